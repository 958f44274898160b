"""Words that the members of a fleet answer worst, searched for while they train.

Words of a test are often told apart by little: nearly every word that is not balanced ends at the
wrong height, so a network need not learn that brackets may go too deep, and breaks where length
brings such words. Hard words show them. Each member keeps a pool of words for every length of its
training. Now and then these words, new ones, and edited copies of both are answered by the network
of that moment and labelled by the task; those with the least margin stay, as many of each class as
there are. Wrongly answered words, the counterexamples, come first. Half of the new words are tours
(see `ldru.tasks.tours`), since edits alone hardly ever find what takes many symbols to set up.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import torch
from torch import Tensor

from ldru.base.errors import LdruError, RunError
from ldru.base.randomness import Stream, bits, fold, words
from ldru.tasks.task import Tokens
from ldru.tasks.tours import tours_of
from ldru.training.draws.regular import RegularDraws
from ldru.training.spec import POOL_SIZE
from ldru.training.word_pool import WordPool, rows_of

NUM_TOURS = POOL_SIZE // 2
"""New words of a search: so many tours, and as many of the task's own."""

SEARCH_EVERY = 1000
"""Steps between two searches."""

LAST = torch.iinfo(torch.int64).max

Scores = Callable[[Tensor, Tensor | None], Tensor]


class HardWords(WordPool):
    """A pool of hard words for each member and length."""

    stream = Stream.HARD

    def __init__(self, draws: RegularDraws, *, share: float, max_length: int) -> None:
        super().__init__(draws, share=share, max_length=max_length)
        symbols = [task.vocab_size for task in draws.tasks]
        self._symbols = torch.tensor(symbols, device=draws.device)
        for length in range(1, max_length + 1):
            batch = draws.words(Stream.HARD, None, batch_size=POOL_SIZE, length=length)
            self._keep(length, batch.tokens, batch.labels)

    @property
    def state(self) -> dict[str, Tensor]:
        """The tensors that a search changes, a row per member."""
        return {"hard_tokens": self.tokens, "hard_labels": self.labels}

    def check(self, state: Mapping[str, Tensor]) -> None:
        """Raise where a saved state has words that no member's task has."""
        classes = torch.tensor([task.num_classes for task in self.draws.tasks])
        for name, sizes in (("hard_tokens", self._symbols.cpu()), ("hard_labels", classes)):
            saved = state[name].cpu().flatten(start_dim=1)
            if (saved < 0).any() or (saved >= sizes[:, None]).any():
                raise RunError(f"the saved {name} are not of these tasks")

    def rows(self, indices: Sequence[int], *, longest: int) -> dict[str, Tensor]:
        """The state of some members, whose words have at most so many symbols."""
        rows = list(indices)
        return {"hard_tokens": self.tokens[rows, ..., :longest], "hard_labels": self.labels[rows]}

    def plant(self, index: int, words: Sequence[Tokens]) -> None:
        """Put words of a member's task in the place of others: in half of the places of a length.

        A few words are repeated, since a batch takes a few of a pool.
        """
        by_length: dict[int, list[Tokens]] = {}
        for word in words:
            by_length.setdefault(len(word), []).append(word)
        for length, some in by_length.items():
            if length > self._lengths.shape[1]:
                raise LdruError(
                    f"a counterexample has {length} symbols, training goes up to "
                    f"{self._lengths.shape[1]}"
                )
            copies = max(1, POOL_SIZE // (2 * len(some)))
            some = (some * copies)[:POOL_SIZE]
            tokens = torch.from_numpy(np.stack(some)).to(self.tokens.device)
            self.tokens[index, length - 1, : len(tokens), :length] = tokens.to(self.tokens.dtype)
            labels = self.draws.tasks[index].label(tokens.long())
            self.labels[index, length - 1, : len(tokens)] = labels.to(self.labels.dtype)

    @torch.no_grad()
    def search(self, scores: Scores, step: Tensor) -> None:
        """Look for harder words of every length.

        scores: of words, with minus infinity outside a member's own classes.
        """
        key = fold(self.draws.keys[Stream.HARD], step)
        tours = self._tours(fold(key, 0))
        for length in range(1, self._lengths.shape[1] + 1):
            fresh = self.draws.words(Stream.HARD, step, batch_size=NUM_TOURS, length=length)
            width = fresh.tokens.shape[2]
            new = torch.cat([tours[:, length - 1, :, :width], fresh.tokens], dim=1)
            tokens = self._candidates(new, fold(key, length), length)
            lengths = None
            if fresh.lengths is not None:
                lengths = fresh.lengths[:, :1].expand(tokens.shape[:2])
            labels = self._label(tokens, length)
            answers = scores(tokens, lengths)
            margins = _margins(answers, labels.clamp(min=0))
            is_useless = (labels < 0) | _are_repeated(tokens)
            margins = margins.double().masked_fill(is_useless, torch.inf)
            chosen = hardest(margins, labels, count=POOL_SIZE)
            self._keep(length, rows_of(tokens, chosen), labels.gather(1, chosen))

    def _tours(self, key: Tensor) -> Tensor:
        """Tours of every member's own machine: [members, lengths, NUM_TOURS, longest]."""
        tokens = self.tokens.new_zeros(*self.tokens.shape[:2], NUM_TOURS, self.longest).long()
        for task, rows in self.draws.groups:
            tours = tours_of(task.machine, max_length=self.longest, device=key.device)
            lengths = self._lengths[rows[0]]
            found = tours.draw(key[rows], lengths=lengths, count=NUM_TOURS)
            tokens[rows, ..., : found.shape[-1]] = found
        return tokens

    def _candidates(self, new: Tensor, key: Tensor, length: int) -> Tensor:
        """The pool, new words, and both edited once or twice: [members, count, longest]."""
        pool = self.tokens[:, length - 1, :, : new.shape[2]].to(new.dtype)
        parents = torch.cat([pool, new], dim=1)
        lengths = self._lengths[:, length - 1]
        children = edited(parents, lengths, self._symbols, fold(key, 0))
        twice = edited(children, lengths, self._symbols, fold(key, 1))
        is_twice = bits(fold(key, 2), parents.shape[1]) > 0
        return torch.cat([parents, torch.where(is_twice[..., None], twice, children)], dim=1)


def edited(tokens: Tensor, lengths: Tensor, symbols: Tensor, key: Tensor) -> Tensor:
    """Change one thing in every word: [members, count, longest], [members] twice, [members, 2].

    Of a stretch of the word, one of: it is turned round by some places, its beginning is repeated
    to its end, its ends change places, or its first symbol becomes any other.
    """
    first, second, third, fourth = words(key, (4, tokens.shape[1])).unbind(dim=1)
    size = lengths[:, None]
    one, other = first * size >> 32, second * size >> 32
    begin, end = torch.minimum(one, other), torch.maximum(one, other) + 1
    shift = third * (end - begin) >> 32
    kind = (fourth & 3)[..., None]
    place = torch.arange(tokens.shape[2], device=tokens.device)
    begin, end, shift = begin[..., None], end[..., None], shift[..., None]
    offset = place - begin
    source = torch.where(
        kind == 0, begin + (offset + shift) % (end - begin), begin + offset % (shift + 1)
    )
    is_end = place == end - 1
    swapped = torch.where(place == begin, end - 1, torch.where(is_end, begin, place))
    source = torch.where(kind == 2, swapped, torch.where(kind == 3, place, source))
    source = torch.where((place >= begin) & (place < end), source, place)
    changed = tokens.gather(2, source)
    symbol = ((fourth >> 2) * symbols[:, None] >> 30)[..., None]
    return torch.where((kind == 3) & (place == begin), symbol, changed)


def hardest(margins: Tensor, labels: Tensor, *, count: int) -> Tensor:
    """The words of least margin, classes in turn: [members, words] twice -> [members, count].

    margins: infinite for words that are not to be taken; too few others are taken again.
    """
    order = margins.argsort(dim=1, stable=True)
    order = order.gather(1, labels.gather(1, order).argsort(dim=1, stable=True))
    kinds = labels.gather(1, order)  # by class, and in a class by margin
    place = torch.arange(order.shape[1], device=order.device)
    rank = place - torch.searchsorted(kinds, kinds)
    is_taken = torch.isfinite(margins.gather(1, order))
    turns = rank.masked_fill(~is_taken, LAST).argsort(dim=1, stable=True)
    known = is_taken.sum(dim=1, keepdim=True).clamp(min=1)
    return order.gather(1, turns.gather(1, torch.arange(count, device=order.device) % known))


def _margins(scores: Tensor, labels: Tensor) -> Tensor:
    """How far the right class leads: [members, count, classes], [members, count] -> the latter."""
    right = scores.gather(2, labels[..., None])
    others = scores.scatter(2, labels[..., None], -torch.inf).amax(dim=2)
    return right[..., 0] - others


def _are_repeated(tokens: Tensor) -> Tensor:
    """Whether a word stands before, by its hash: [members, count, longest] -> [members, count]."""
    place = torch.arange(1, tokens.shape[2] + 1, device=tokens.device)
    factor = fold(fold(torch.zeros_like(place, dtype=torch.int32)[:, None].expand(-1, 2), place), 0)
    wide = factor.to(torch.int64)
    hashes = ((tokens + 1) * (wide[:, 0] << 32 | wide[:, 1] & 0xFFFFFFFF)).sum(dim=2)
    ordered, order = hashes.sort(dim=1, stable=True)
    is_again = torch.zeros_like(ordered, dtype=torch.bool)
    is_again[:, 1:] = ordered[:, 1:] == ordered[:, :-1]
    return torch.zeros_like(is_again).scatter_(1, order, is_again)
