"""The random layers of a fleet: what they draw by at every step, and dropout that rises."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from ldru.layers.dropout import Dropout, Keyed, rate_buffers
from ldru.training.distributed import Group
from ldru.training.draws.base import Draws


class RandomLayers:
    """The random layers of all members' models, as buffers for the model that they share.

    models: of the members, from which each has its own rates.
    rises: the steps over which dropout rises from 0 to a member's rate; 0 where it does not.
    """

    def __init__(
        self, models: Sequence[nn.Module], *, rises: Sequence[float], dtype: torch.dtype,
        device: torch.device,
    ) -> None:  # fmt: skip
        self.dtype = dtype
        self._rates = {
            name: torch.tensor(some, dtype=torch.float64, device=device)
            for name, some in _dropout_rates(models).items()
        }
        # Numbers are part of every run's data: a layer draws the same whether others do or not.
        keyed = {name: each for name, each in models[0].named_modules() if isinstance(each, Keyed)}
        self._numbers = {
            name: number
            for number, (name, layer) in enumerate(keyed.items())
            if name in self._rates or not isinstance(layer, Dropout)
        }
        self._is_rising = any(rises)
        self._rises = torch.tensor(rises, dtype=torch.float64, device=device).clamp(min=1)
        self._full = self._rate_buffers(torch.ones((), device=device))

    def buffers(
        self, draws: Draws, step: Tensor, *, batch_size: int, group: Group
    ) -> dict[str, Tensor]:
        """A step's buffers by name; each row of each layer has its own key.

        batch_size: of this process of the group.
        """
        if not self._numbers:
            return {}
        num_layers = 1 + max(self._numbers.values())
        keys = draws.row_keys(step, num_layers=num_layers, batch_size=batch_size * group.size)
        keys = group.share(keys, dim=2)
        named = {f"{name}.keys": keys[number] for name, number in self._numbers.items()}
        if not self._is_rising:
            return {**named, **self._full}
        return {**named, **self._rate_buffers((step.double() / self._rises).clamp(max=1))}

    def _rate_buffers(self, risen: Tensor) -> dict[str, Tensor]:
        """The buffers of dropout, of which each member has risen to a share of its rate."""
        return {
            f"{name}.{part}": buffer
            for name, rates in self._rates.items()
            for part, buffer in rate_buffers(rates * risen, dtype=self.dtype).items()
        }


def _dropout_rates(models: Sequence[nn.Module]) -> dict[str, list[float]]:
    """The rates of all members by the layer's name, of layers that drop at all."""
    by_model = [
        {name: each.rate for name, each in model.named_modules() if isinstance(each, Dropout)}
        for model in models
    ]
    rates = {name: [own[name] for own in by_model] for name in by_model[0]}
    return {name: some for name, some in rates.items() if any(some)}
