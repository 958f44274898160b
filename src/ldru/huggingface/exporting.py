"""Runs as models of transformers, with their tokeniser and a model card."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from ldru.base.errors import LdruError
from ldru.base.files import whole_folder
from ldru.base.reading import is_there
from ldru.evaluation.metrics import METRICS
from ldru.huggingface.models import LDRUConfig, LDRUForSequenceClassification
from ldru.models.settings import LDRUSpec
from ldru.runs.run import Run
from ldru.tasks.regular_task import RegularTask
from ldru.tasks.text import TEXT_SETS, TextSet
from ldru.tasks.text.store import kept_vocabulary
from ldru.tasks.text.wordpiece import bert_tokeniser

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

PADDING = "[PAD]"
SHARED = ("dim", "operator", "dropout", "activation", "gates", "embedding_std", "leaf_block")
"""The settings of a run's model that its configuration has too."""


def from_run(run: Run) -> LDRUForSequenceClassification:
    """A run's model as one of transformers, with the same weights."""
    spec = run.spec.model
    if not isinstance(spec, LDRUSpec):
        raise LdruError(f"an LDRU can be handed to transformers, {run.spec.name} is none")
    task = run.task
    names = task.labels or tuple(map(str, range(task.num_classes)))
    config = LDRUConfig(
        vocab_size=task.vocab_size,
        **{name: getattr(spec, name) for name in SHARED},
        associativity=run.spec.train.associativity,
        id2label=dict(enumerate(names)),
        label2id={name: number for number, name in enumerate(names)},
        architectures=["LDRUForSequenceClassification"],
    )
    with torch.random.fork_rng(devices=[]):  # the weights drawn here are overwritten
        model = LDRUForSequenceClassification(config).to(run.spec.train.dtype)
    weights = run.model.state_dict()
    model.load_state_dict(
        {name if name.startswith("head.") else f"ldru.{name}": w for name, w in weights.items()}
    )
    return model.eval()


def export(run: Run, folder: str | Path) -> None:
    """Write a run for transformers, with its tokeniser and a model card, to a new folder."""
    if is_there(Path(folder)):
        raise LdruError(f"{str(folder)!r} is already there and is not overwritten")
    run.check_vocabulary()
    model = from_run(run)
    with whole_folder(Path(folder)) as parts:
        model.save_pretrained(parts)
        if run.task.name in TEXT_SETS:
            tokeniser(TEXT_SETS[run.task.name]).save_pretrained(parts)
        elif isinstance(run.task, RegularTask):
            symbol_tokeniser(run.task.machine.alphabet).save_pretrained(parts)
        (parts / "README.md").write_text(model_card(run, name=Path(folder).name))


def tokeniser(text_set: TextSet) -> "PreTrainedTokenizerFast":
    """The tokeniser of a data set, with the store's vocabulary, for transformers."""
    from tokenizers import normalizers
    from transformers import PreTrainedTokenizerFast

    found = bert_tokeniser(kept_vocabulary())
    if text_set.removed:
        parts = [normalizers.Replace(text_set.removed, ""), found.normalizer]
        found.normalizer = normalizers.Sequence(parts)
    return PreTrainedTokenizerFast(
        tokenizer_object=found,
        model_max_length=text_set.max_tokens,
        model_input_names=["input_ids", "attention_mask"],
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
    )


def symbol_tokeniser(alphabet: Sequence[str]) -> "PreTrainedTokenizerFast":
    """A tokeniser for words of a machine, whose tokens are its symbols.

    Symbols of several characters are separated by blanks. A symbol that is none is an error.
    """
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    # Padding is under no mask, so its number never meets the embedding.
    numbers = {symbol: number for number, symbol in enumerate((*alphabet, PADDING))}
    found = Tokenizer(models.WordLevel(numbers))
    is_spaced = any(len(symbol) > 1 for symbol in alphabet)
    found.pre_tokenizer = (
        pre_tokenizers.WhitespaceSplit()
        if is_spaced
        else pre_tokenizers.Split(Regex("."), behavior="isolated")
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=found,
        model_input_names=["input_ids", "attention_mask"],
        pad_token=PADDING,
    )


def model_card(run: Run, *, name: str) -> str:
    """A model card: how an exported model was trained and how it scored, from its record."""
    task, spec, record = run.task, run.spec, run.record
    is_text = task.name in TEXT_SETS
    word = task.machine.decode([0, task.vocab_size - 1]) if isinstance(task, RegularTask) else None
    lines = [
        "---",
        "library_name: transformers",
        *(["pipeline_tag: text-classification"] if is_text or word else []),
        *(["language: en"] if is_text else []),
        "tags: [ldru]",
        "---",
        "",
        f"# {name}",
        "",
        f"An LDRU ({sum(p.numel() for p in run.model.parameters()):,} parameters), trained from "
        f"scratch on `{task.name}` for {record.final.step:,} steps, seed {spec.seed}.",
    ]
    if is_text:
        lines += ["", *_about_texts(TEXT_SETS[task.name], cut=record.cut)]
    lines += ["", "```python", "import ldru.huggingface"]
    if is_text:
        example = '{"text": "...", "text_pair": "..."}' if TEXT_SETS[task.name].is_pair else '"..."'
        lines += [
            "from transformers import pipeline",
            "",
            f'ask = pipeline("text-classification", model="{name}")',
            f"print(ask({example}, truncation=True))",
        ]
    elif word is not None:
        lines += [
            "from transformers import pipeline",
            "",
            f'ask = pipeline("text-classification", model="{name}")',
            f'print(ask("{word}"))',
        ]
    else:
        lines += [
            "",
            f'model = ldru.huggingface.LDRUForSequenceClassification.from_pretrained("{name}")',
        ]
    lines += ["```", "", *_results(run), ""]
    lines += [
        f"Run `{spec.name}`, weights of its last step; trained on {record.device} with PyTorch "
        f"{record.versions['torch']}."
        + (f" Training words: checksum `{record.data}`." if record.data else ""),
        "",
        "```json",
        json.dumps(spec.to_json(), indent=2),
        "```",
        "",
    ]
    return "\n".join(lines)


def _about_texts(text_set: TextSet, *, cut: int | None) -> list[str]:
    lines = []
    if text_set.subset_of:
        lines.append(
            f"**Trained on a SUBSET of {text_set.subset_of}**: its numbers are not comparable with "
            f"any of the whole data set."
        )
    lines.append(
        f"Texts are cut to {text_set.max_tokens} tokens of BERT base, uncased ({cut} of those in "
        "training were). Classes: " + ", ".join(text_set.labels) + "."
    )
    if text_set.removed:
        lines.append(f"It was trained on texts without the character {text_set.removed!r}.")
    return lines


def _results(run: Run) -> list[str]:
    evaluation = run.record.evaluation
    if evaluation is None:
        return ["It was not evaluated."]
    if run.task.is_drawn:
        return [
            f"Mean accuracy over {len(evaluation.lengths)} lengths: "
            f"{evaluation.mean_accuracy():.4f}."
        ]
    metrics = run.task.metrics
    return [
        "| set | texts | " + " | ".join(metrics) + " | majority share |",
        "| --- | ---: |" + " ---: |" * len(metrics) + " ---: |",
        *(
            f"| {part} | {result.words:,} | "
            + " | ".join(f"{METRICS[metric](result):.4f}" for metric in metrics)
            + f" | {result.majority_share:.4f} |"
            for part, result in evaluation.by_part.items()
        ),
    ]
