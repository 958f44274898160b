"""The shapes of a model's tensors, known before any memory is taken for them."""

from dataclasses import fields
from typing import TYPE_CHECKING

from ldru.base.errors import LdruError
from ldru.base.limits import check_limit
from ldru.models import settings
from ldru.models.registry import model_name
from ldru.models.spec import ModelSpec

if TYPE_CHECKING:
    from torch import Size


def check_settings(spec: ModelSpec) -> None:
    """Raise on sizes of a model that no one can mean."""
    name = model_name(spec)
    for field in fields(spec):
        value = getattr(spec, field.name)
        if isinstance(value, bool) or not isinstance(value, int):
            continue
        if value < 1:
            raise LdruError(f"{field.name} must be a whole number of at least 1, got {value}")
        bound = "layers" if field.name.startswith("num_") or field.name == "thickness" else "width"
        check_limit(bound, value, f"{field.name} of {name}")


def model_shapes(spec: ModelSpec, *, vocab_size: int, num_classes: int) -> "dict[str, Size] | None":
    """The shapes by name, of a model within the limits; None for a model of somebody else's.

    What others register may need real numbers to be built.
    """
    if type(spec).__module__ != settings.__name__:
        return None
    check_settings(spec)
    import torch
    from torch.overrides import TorchFunctionMode

    class WithoutMemory(TorchFunctionMode):
        """Large tensors are made on the meta device, and nothing is drawn into them.

        `torch.device("meta")` alone would run PyTorch's reference functions, whose import takes
        seconds.
        """

        def __torch_function__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
            kwargs, name = kwargs or {}, getattr(func, "__name__", "")
            if func in (torch.empty, torch.zeros, torch.ones, torch.full):
                return func(*args, **{**kwargs, "device": "meta"})
            if "out" in kwargs:
                return kwargs["out"]
            is_drawn = getattr(func, "__module__", None) == torch.nn.init.__name__
            is_in_place = name.endswith("_") and not name.endswith("__")
            if is_drawn or (is_in_place and name != "requires_grad_"):
                return args[0] if args else kwargs["tensor"]
            return func(*args, **kwargs)

    with WithoutMemory(), torch.random.fork_rng(devices=[]):
        model = spec.build(vocab_size=vocab_size, num_classes=num_classes)
    shapes = {name: tensor.shape for name, tensor in model.state_dict().items()}
    total = sum(shape.numel() for shape in shapes.values())
    check_limit("parameters", total, f"this {model_name(spec)}")
    return shapes
