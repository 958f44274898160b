"""Architectures with one call: `model(tokens, lengths=None) -> [batch, classes]`."""

from ldru.models.backends import describe_backend
from ldru.models.bbt_grc import BBTGRCSpec
from ldru.models.gated_deltanet import GatedDeltaNetSpec
from ldru.models.ldru import LDRU, LDRUClassifier, LDRUSpec
from ldru.models.lstm import LSTMSpec
from ldru.models.registry import MODELS, build, model_name, model_spec, register
from ldru.models.regular_gpt import RegularGPTSpec
from ldru.models.rir_grc import RIRGRCSpec
from ldru.models.rnn import RNNSpec
from ldru.models.s5 import S5Spec
from ldru.models.sd_ssm import SDSSMSpec
from ldru.models.spec import ModelSpec
from ldru.models.transformer import (
    TransformerAlibiSpec,
    TransformerNopeSpec,
    TransformerRopeSpec,
    TransformerSinusoidalSpec,
)

__all__ = [
    "LDRU",
    "MODELS",
    "BBTGRCSpec",
    "GatedDeltaNetSpec",
    "LDRUClassifier",
    "LDRUSpec",
    "LSTMSpec",
    "ModelSpec",
    "RIRGRCSpec",
    "RNNSpec",
    "RegularGPTSpec",
    "S5Spec",
    "SDSSMSpec",
    "TransformerAlibiSpec",
    "TransformerNopeSpec",
    "TransformerRopeSpec",
    "TransformerSinusoidalSpec",
    "build",
    "describe_backend",
    "model_name",
    "model_spec",
    "register",
]
