"""The LDRU as a model of Hugging Face's transformers: Auto classes, Trainer, pipelines.

Importing this makes `AutoConfig`, `AutoModel` and `AutoModelForSequenceClassification` know the
type "ldru". It needs the extra `text`.
"""

from ldru.huggingface.exporting import export, from_run, model_card
from ldru.huggingface.models import LDRUConfig, LDRUForSequenceClassification, LDRUModel

__all__ = [
    "LDRUConfig",
    "LDRUForSequenceClassification",
    "LDRUModel",
    "export",
    "from_run",
    "model_card",
]
