"""The parameters of many models as one matrix, with a named view for each tensor.

Models of one architecture may differ in vocabulary and classes. Each is laid into the shape of the
largest; the rest of its row stays zero, and no step may move it.
"""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

ALIGNMENT = 4
"""Every tensor begins at a multiple of so many numbers, also in the rows after the first: matrix
products of numbers that do not lie on 16 bytes are slow on a GPU."""


class Parameters:
    """Parameters of a fleet.

    matrix: all of them [members, parameters], updated in place.
    views: the same memory by name [members, ...], leaves for autograd.
    """

    def __init__(self, layout: "Layout", matrix: Tensor) -> None:
        self.layout, self.matrix = layout, matrix
        self.views = {
            name: matrix[:, begin:end].detach().view(-1, *shape).requires_grad_()
            for name, (begin, end, shape) in layout.places.items()
        }

    def gradient(self, gradients: Sequence[Tensor]) -> Tensor:
        """The gradients of `views`, in their order, as one matrix [members, parameters]."""
        rows = [gradient.flatten(start_dim=1) for gradient in gradients]
        gaps = [-row.shape[1] % ALIGNMENT for row in rows]
        return torch.cat(
            [
                functional.pad(row, (0, gap)) if gap else row
                for row, gap in zip(rows, gaps, strict=True)
            ],
            dim=1,
        )


class Layout:
    """Where each parameter of each model lies in the matrix."""

    def __init__(
        self,
        largest: nn.Module,
        member_shapes: Sequence[Mapping[str, torch.Size]],
        *,
        device: torch.device,
    ) -> None:
        self.member_shapes = list(member_shapes)
        self.device = device
        self.places: dict[str, tuple[int, int, torch.Size]] = {}
        begin = 0
        for name, parameter in largest.named_parameters():
            end = begin + parameter.numel()
            self.places[name] = (begin, end, parameter.shape)
            begin = end + -end % ALIGNMENT
        self.size = begin
        # What reads answers from a model is called a head.
        linear = _linear_weights(largest)
        self.hidden = tuple(name for name in linear if not name.split(".")[0].endswith("head"))
        self._axes = _centred_axes(largest)
        self._masks = {name: self._mask(name) for name in self.places}

    def matrix(self, models: Sequence[Mapping[str, Tensor]], *, dtype: torch.dtype) -> Tensor:
        """Lay the parameters of every model into one matrix."""
        matrix = torch.zeros(len(models), self.size, dtype=dtype)
        for row, model in zip(matrix, models, strict=True):
            for name, (begin, end, shape) in self.places.items():
                corner = tuple(slice(size) for size in model[name].shape)
                row[begin:end].view(shape)[corner] = model[name].detach()
        return matrix.to(self.device)

    def member(self, matrix: Tensor, index: int) -> dict[str, Tensor]:
        """A copy of one model's tensors, in their own shapes, out of such a matrix."""
        row = {}
        for name, (begin, end, shape) in self.places.items():
            corner = tuple(slice(size) for size in self.member_shapes[index][name])
            row[name] = matrix[index, begin:end].view(shape)[corner].clone()
        return row

    def centre(self, matrix: Tensor) -> None:
        """Subtract from every tensor its mean over outputs, in place; vectors are left alone."""
        for name, (begin, end, shape) in self.places.items():
            view = matrix[:, begin:end].view(-1, *shape)
            view.copy_(self._centred(name, view))

    def averages(
        self, *, centralise: bool
    ) -> tuple[list[tuple[int, tuple[int, int], tuple[int, int], bool]], Tensor]:
        """Every tensor as averages of terms, as `CentreTable` wants them.

        A linear layer [outputs, inputs] has an average per input, any other tensor one per entry
        of its first axis; a vector is the terms of one average, which is not taken.
        """
        tensors, sizes = [], []
        for name, (begin, _, shape) in self.places.items():
            axes = self._axes[name]
            first, rest = shape[0], shape[1:].numel()
            own = [(shapes[name][0], shapes[name][1:].numel()) for shapes in self.member_shapes]
            if axes and axes != (1,):
                tensors.append((begin, (first, rest), (rest, 1), centralise))
                sizes.append(own)
            else:
                tensors.append((begin, (rest, 1), (first, rest), centralise and bool(axes)))
                sizes.append([pair[::-1] for pair in own])
        return tensors, torch.tensor(sizes).transpose(0, 1)

    @property
    def has_padding_inside(self) -> bool:
        """Whether some member's tensor of more than two axes is smaller than the fleet's."""
        return any(
            len(shape) > 2 and any(shapes[name] != shape for shapes in self.member_shapes)
            for name, (_, _, shape) in self.places.items()
        )

    def _centred(self, name: str, gradient: Tensor) -> Tensor:
        axes = self._axes[name]
        if not axes:
            return gradient
        mask = self._masks[name]
        if mask is None:
            return gradient - gradient.mean(dim=axes, keepdim=True)
        mean = gradient.sum(dim=axes, keepdim=True) / mask.sum(dim=axes, keepdim=True).clamp(min=1)
        return torch.where(mask, gradient - mean, 0)

    def _mask(self, name: str) -> Tensor | None:
        """A mask of each member's own part [members, ...]; None when all have the full shape."""
        shape = self.places[name][2]
        if all(shapes[name] == shape for shapes in self.member_shapes):
            return None
        mask = torch.zeros(len(self.member_shapes), *shape, dtype=torch.bool)
        for row, shapes in zip(mask, self.member_shapes, strict=True):
            row[tuple(slice(size) for size in shapes[name])] = True
        return mask.to(self.device)


def _linear_weights(model: nn.Module) -> list[str]:
    """The names of linear layers' weights."""
    return [
        f"{prefix}.weight" if prefix else "weight"
        for prefix, module in model.named_modules()
        if isinstance(module, nn.Linear)
    ]


def _centred_axes(model: nn.Module) -> dict[str, tuple[int, ...]]:
    """The axes of [members, ...] over which each gradient is centred.

    All but the input axis. It comes first in every tensor but a linear layer's weight, which
    PyTorch keeps as [outputs, inputs].
    """
    linear = _linear_weights(model)
    axes: dict[str, tuple[int, ...]] = {}
    for name, parameter in model.named_parameters():
        if parameter.ndim < 2:
            axes[name] = ()
        elif name in linear:
            axes[name] = (1,)
        else:
            axes[name] = tuple(range(2, parameter.ndim + 1))
    return axes
