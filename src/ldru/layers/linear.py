"""Linear layers with the paper's initialisations."""

from torch import Tensor, nn


class Linear(nn.Linear):
    """Linear layer; truncated normal of deviation 1/sqrt(inputs), zero bias."""

    def forward(self, x: Tensor) -> Tensor:
        """[..., inputs] -> [..., outputs]."""
        if x.ndim < 3:
            return super().forward(x)
        # Of a slice, PyTorch's product in a fleet copies the weights once for every word.
        return super().forward(x.flatten(0, -2)).unflatten(0, x.shape[:-1])

    def reset_parameters(self) -> None:
        std = self.in_features**-0.5
        nn.init.trunc_normal_(self.weight, std=std, a=-2 * std, b=2 * std)
        if self.bias is not None:
            nn.init.zeros_(self.bias)


class GlorotLinear(Linear):
    """Linear layer; Glorot normal.

    offset: what the bias starts at.
    """

    def __init__(self, in_features: int, out_features: int, *, offset: float = 0.0) -> None:
        self.offset = offset  # before the parent, which draws the parameters
        super().__init__(in_features, out_features)

    def reset_parameters(self) -> None:
        nn.init.xavier_normal_(self.weight)
        nn.init.constant_(self.bias, self.offset)


class IdentityLinear(Linear):
    """Linear layer that starts as the identity map."""

    def reset_parameters(self) -> None:
        nn.init.eye_(self.weight)
        nn.init.zeros_(self.bias)
