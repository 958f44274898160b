"""Words that grow, and their codes and scores at any time, in memory logarithmic in the length."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from ldru.base.errors import LdruError
from ldru.models import backends
from ldru.models.stretches import nodes_above, shared_levels
from ldru.tree import TreeStream

if TYPE_CHECKING:
    from ldru.models.ldru import LDRU, LDRUClassifier

PIECES = {"cpu": 2**16, "cuda": 2**22}
"""How many tokens of a word are turned into vectors at once."""

FUSED_LEVELS = {"cuda": 7}
"""How many levels above these vectors are computed at once, as those of many words are."""

OWNER = "model"
"""In a saved state: the checksum of the weights that computed it."""


class EncoderStream:
    """The codes of words while their vectors come; see `LDRU.stream`."""

    def __init__(self, encoder: "LDRU", *, batch: int, state: Mapping[str, Tensor] | None) -> None:
        self._encoder = encoder
        self._tree = tree_stream(encoder, encoder, batch=batch, state=state)

    @property
    def lengths(self) -> list[int]:
        """How many vectors each word has."""
        return self._tree.lengths

    @torch.no_grad()
    def push(self, x: Tensor, lengths: Tensor | Sequence[int] | None = None) -> "EncoderStream":
        """Append one vector to each word [batch, dim], or a chunk [batch, count, dim].

        lengths: how many of the chunk belong to each row [batch], from 0.
        """
        self._tree.push(self._encoder.leaves(x), lengths)
        return self

    def code(self) -> Tensor:
        """The codes of the words so far: [batch, dim]."""
        return self._tree.value()

    def state(self) -> dict[str, Tensor]:
        """All that the stream holds, as tensors, for `LDRU.stream(state=...)`."""
        return {**self._tree.state(), OWNER: checksum(self._encoder)}


class TokenStream:
    """The scores of words while their tokens come; see `LDRUClassifier.stream`."""

    def __init__(
        self, model: "LDRUClassifier", *, batch: int, state: Mapping[str, Tensor] | None
    ) -> None:
        self._model = model
        self._tree = tree_stream(model.encoder, model, batch=batch, state=state)

    @property
    def lengths(self) -> list[int]:
        """How many tokens each word has."""
        return self._tree.lengths

    @torch.no_grad()
    def push(self, tokens: Tensor, lengths: Tensor | Sequence[int] | None = None) -> "TokenStream":
        """Append one token to each word [batch], or a chunk [batch, count], of any length.

        lengths: how many of the chunk belong to each row [batch], from 0.
        """
        chunk = self._checked(tokens)
        if lengths is not None:
            # Padding may hold anything.
            known = torch.as_tensor(lengths, device=chunk.device)
            place = torch.arange(chunk.shape[1], device=chunk.device)
            chunk = torch.where(place < known[:, None], chunk, 0) if known.ndim == 1 else chunk
            self._check_range(chunk)
            self._tree.push(self._leaves(chunk), lengths)
            return self
        most = max(1, PIECES.get(chunk.device.type, PIECES["cpu"]) // len(chunk))
        pieces = chunk.split(most, dim=1) if chunk.shape[1] else ()
        self._check_range(chunk)
        for piece in pieces:
            self._push_piece(piece.long())
        return self

    def code(self) -> Tensor:
        """The codes of the words so far: [batch, dim]."""
        return self._tree.value()

    @torch.no_grad()
    def scores(self) -> Tensor:
        """The scores of the words so far: [batch, classes]."""
        return self._model.head(self.code())

    def state(self) -> dict[str, Tensor]:
        """All that the stream holds, as tensors, for `LDRUClassifier.stream(state=...)`."""
        return {**self._tree.state(), OWNER: checksum(self._model)}

    def _push_piece(self, tokens: Tensor) -> None:
        """Append equally many tokens to each word, as nodes some levels up where that is faster.

        Equal stretches are looked up, and nodes above them are computed as words of their own. Both
        need words that are cut at multiples of such a stretch.
        """
        count = tokens.shape[1]
        shared = shared_levels(self._model.vocab_size, batch=len(tokens), length=count)
        fused = FUSED_LEVELS.get(tokens.device.type, 0)
        size = 2 ** (shared + fused)
        before = -self.lengths[0] % size
        whole = max(0, count - before) // size * size
        if len(set(self.lengths)) > 1 or size == 1 or not whole:
            self._tree.push(self._leaves(tokens))
            return
        if before:
            self._tree.push(self._leaves(tokens[:, :before]))
        nodes = self._nodes(tokens[:, before : before + whole], shared=shared, fused=fused)
        self._tree.push_nodes(nodes, [whole // size] * len(tokens), height=shared + fused)
        if before + whole < count:
            self._tree.push(self._leaves(tokens[:, before + whole :]))

    def _nodes(self, tokens: Tensor, *, shared: int, fused: int) -> Tensor:
        """The nodes over whole stretches: [batch, count] -> [batch, stretches, dim]."""
        model = self._model
        nodes = nodes_above(
            model.symbol_leaves(),
            tokens,
            levels=shared,
            combine=model.encoder.operator,
            finish=model.encoder.block,
        )
        if not fused:
            return nodes
        words = nodes.reshape(-1, 2**fused, nodes.shape[2])
        return backends.reduce(model.encoder, words, None).reshape(len(tokens), -1, nodes.shape[2])

    def _leaves(self, tokens: Tensor) -> Tensor:
        return self._model.encoder.leaves(self._model.embedding(tokens.long()))

    def _checked(self, tokens: Tensor) -> Tensor:
        """Tokens as [batch, count], or an error that says what was expected."""
        batch = len(self.lengths)
        chunk = tokens[:, None] if tokens.ndim == 1 else tokens
        if chunk.ndim != 2 or len(chunk) != batch or chunk.is_floating_point():
            raise LdruError(
                f"a stream of {batch} words takes tokens [{batch}] or [{batch}, count], got "
                f"{tokens.dtype} {list(tokens.shape)}"
            )
        return chunk

    def _check_range(self, tokens: Tensor) -> None:
        size = self._model.vocab_size
        if tokens.numel() and not 0 <= tokens.min() <= tokens.max() < size:
            raise LdruError(
                f"tokens run from 0 to {size - 1} here, got {int(tokens.min())} to "
                f"{int(tokens.max())}"
            )


def tree_stream(
    encoder: "LDRU", owner: nn.Module, *, batch: int, state: Mapping[str, Tensor] | None
) -> TreeStream:
    """The stream of an encoder's nodes, from its beginning or from a state of the same owner."""
    if encoder.dropout.is_on:
        raise LdruError("a stream drops nothing: call eval() on the model first")
    if state is not None:
        if OWNER not in state or not torch.equal(state[OWNER].cpu(), checksum(owner)):
            raise LdruError(
                "this is the state of another model's stream: its nodes mean nothing here; take "
                "the model that computed them"
            )
        state = {name: part for name, part in state.items() if name != OWNER}
    return TreeStream(encoder.operator, encoder.block, batch=batch, state=state)


def checksum(model: nn.Module) -> Tensor:
    """The SHA-256 of a model's weights: uint8 [32]."""
    digest = hashlib.sha256()
    for name, weight in model.state_dict().items():
        digest.update(name.encode())
        digest.update(weight.detach().cpu().contiguous().view(torch.uint8).numpy().tobytes())
    return torch.tensor(list(digest.digest()), dtype=torch.uint8)
