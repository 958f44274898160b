"""Moore machines as tables: the exact side of every regular task."""

import itertools
import json
import reprlib
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldru.automata.minimise import IntArray, equal_states
from ldru.base.errors import LdruError
from ldru.base.json import Json
from ldru.base.limits import check_limit, limit
from ldru.base.reading import parse_json, read_text
from ldru.base.tabular import Tabular

UNLABELLED = -1
"""The output of a state that gives no label: words ending there are outside the domain."""

MAX_CLASSES = 10**6


@dataclass(frozen=True, eq=False)
class MooreMachine(Tabular):
    """A complete deterministic automaton that answers with the output of its last state.

    alphabet: one string per symbol; a token is the index of its symbol.
    delta: next states [states, symbols].
    output: label of each state [states]; labels count from 0, `UNLABELLED` is outside the domain.

    >>> parity = ldru.MooreMachine(alphabet="01", delta=[[0, 1], [1, 0]], output=[1, 0])
    >>> int(parity.run([0, 1, 1])), parity.encode("011").tolist()
    (1, [0, 1, 1])
    """

    alphabet: tuple[str, ...]
    delta: IntArray
    output: IntArray
    start: int = 0
    _tokens: dict[str, int] = field(init=False, repr=False)

    def __init__(
        self, *, alphabet: Iterable[str], delta: ArrayLike, output: ArrayLike, start: int = 0
    ) -> None:
        if not isinstance(alphabet, Iterable):
            raise LdruError(f"the alphabet is a list of strings, got {alphabet!r}")
        symbols = tuple(itertools.islice(alphabet, limit("symbols") + 1))
        check_limit("symbols", len(symbols), "a machine's alphabet")
        _check_alphabet(symbols)
        table = _integers(delta, name="delta", axes=2)
        labels = _integers(output, name="output", axes=1)
        _check_tables(symbols, table, labels, start)
        for array in (table, labels):
            array.flags.writeable = False
        object.__setattr__(self, "alphabet", symbols)
        object.__setattr__(self, "delta", table)
        object.__setattr__(self, "output", labels)
        object.__setattr__(self, "start", int(start))
        object.__setattr__(self, "_tokens", {symbol: i for i, symbol in enumerate(symbols)})

    def __repr__(self) -> str:
        symbols = " ".join(self.alphabet)
        return (
            f"MooreMachine({self.num_states} states, {self.num_classes} classes, symbols {symbols})"
        )

    def rows(self) -> list[dict[str, Json]]:
        """A row per state: where each symbol leads, and its label."""
        return [
            {"state": state, **dict(zip(self.alphabet, moves, strict=True)), "label": label}
            for state, (moves, label) in enumerate(
                zip(self.delta.tolist(), self.output.tolist(), strict=True)
            )
        ]

    @property
    def num_states(self) -> int:
        return len(self.output)

    @property
    def num_symbols(self) -> int:
        return len(self.alphabet)

    @property
    def num_classes(self) -> int:
        """How many labels there are: one more than the largest."""
        return int(self.output.max()) + 1

    def run(self, tokens: str | ArrayLike) -> IntArray:
        """The label of a word (text), or of each word of an array: [..., length] -> [...]."""
        return self.output[self.final_states(tokens)]

    def scan(self, tokens: str | ArrayLike) -> IntArray:
        """The labels of every prefix of a word, or of each word: [..., length] -> [..., length].

        >>> ldru.task("parity_check").machine.scan("0110")  # 1 for an even number of ones
        array([1, 0, 1, 1])
        """
        words = self.encode(tokens) if isinstance(tokens, str) else np.asarray(tokens)
        self.check_tokens(words)
        labels = np.empty(words.shape, dtype=self.output.dtype)
        states = np.full(words.shape[:-1], self.start, dtype=np.int64)
        for position in range(words.shape[-1]):
            states = self.delta[states, words[..., position]]
            labels[..., position] = self.output[states]
        return labels

    def final_states(self, tokens: str | ArrayLike) -> IntArray:
        """The state where a word (text), or each word of an array, ends: [..., length] -> [...]."""
        words = self.encode(tokens) if isinstance(tokens, str) else np.asarray(tokens)
        self.check_tokens(words)
        states = np.full(words.shape[:-1], self.start, dtype=np.int64)
        for position in range(words.shape[-1]):
            states = self.delta[states, words[..., position]]
        return states

    def check_tokens(self, words: NDArray) -> None:
        """Raise unless every token stands for a symbol."""
        if words.ndim == 0 or (words.size and not np.issubdtype(words.dtype, np.integer)):
            raise LdruError(
                f"a machine takes a word as text, or tokens [..., length] as whole numbers, got "
                f"{words.dtype} {list(words.shape)}; encode turns text into tokens"
            )
        if words.size and not (words.min() >= 0 and words.max() < self.num_symbols):
            raise LdruError(
                f"tokens run from 0 to {self.num_symbols - 1} here, "
                f"got {int(words.min())} to {int(words.max())}"
            )

    def encode(self, word: str | Sequence[str]) -> IntArray:
        """A word as tokens [length]; several characters a symbol are separated by blanks."""
        if isinstance(word, str) and all(len(symbol) == 1 for symbol in self.alphabet):
            symbols: Sequence[str] = word
            tokens = self._encode_characters(word)
        else:
            symbols = word.split() if isinstance(word, str) else word
            tokens = np.array([self._tokens.get(symbol, -1) for symbol in symbols], dtype=np.int64)
        if (tokens < 0).any():
            place = int((tokens < 0).argmax())
            raise LdruError(
                f"symbol {symbols[place]!r} at place {place + 1} of {word!r} is not in the "
                f"alphabet {' '.join(self.alphabet)}"
            )
        return tokens

    def _encode_characters(self, word: str) -> IntArray:
        """The token of each character, -1 for others: all at once, words may have millions."""
        known, given = (
            np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")
            for text in ("".join(self.alphabet), word)
        )
        order = np.argsort(known)
        place = np.searchsorted(known, given, sorter=order).clip(max=len(known) - 1)
        tokens = order[place]
        return np.where(known[tokens] == given, tokens, -1)

    def decode(self, tokens: ArrayLike) -> str:
        """Tokens [length] as text, so that `encode` reads it back."""
        blank = " " if any(len(symbol) > 1 for symbol in self.alphabet) else ""
        return blank.join(self.alphabet[token] for token in np.asarray(tokens))

    def to_dot(self) -> str:
        """The machine as text for Graphviz; states that answer 1 have two circles."""
        lines = ["digraph machine {", "  rankdir=LR;", '  start [shape=point, label=""];']
        for state, label in enumerate(self.output.tolist()):
            shape = "doublecircle" if label == 1 and self.num_classes == 2 else "circle"
            name = str(state) if self.num_classes == 2 else f"{state}\\n{label}"
            lines.append(f'  {state} [shape={shape}, label="{name}"];')
        lines.append(f"  start -> {self.start};")
        for state, row in enumerate(self.delta.tolist()):
            for target in dict.fromkeys(row):
                symbols = [s for s, t in zip(self.alphabet, row, strict=True) if t == target]
                text = ", ".join(symbols).replace("\\", "\\\\").replace('"', '\\"')
                lines.append(f'  {state} -> {target} [label="{text}"];')
        return "\n".join([*lines, "}"]) + "\n"

    def minimal(self) -> "MooreMachine":
        """The smallest equivalent machine, states numbered in the order words reach them."""
        reached = _reach_order(self)
        delta = np.empty_like(self.delta[reached])
        number = np.empty(self.num_states, dtype=np.int64)
        number[reached] = np.arange(len(reached))
        delta[:] = number[self.delta[reached]]
        output = self.output[reached]
        blocks = equal_states(delta, output)
        first = np.unique(blocks, return_index=True)[1]
        merged = MooreMachine(
            alphabet=self.alphabet,
            delta=blocks[delta[first]],
            output=output[first],
            start=int(blocks[0]),
        )
        order = _reach_order(merged)
        rank = np.argsort(order)
        return MooreMachine(
            alphabet=self.alphabet, delta=rank[merged.delta[order]], output=merged.output[order]
        )

    def counterexample(self, other: "MooreMachine") -> tuple[int, ...] | None:
        """A shortest word on which two machines differ, as tokens; None when they are equal."""
        if self.alphabet != other.alphabet:
            raise LdruError(
                f"machines over the alphabets {' '.join(self.alphabet)} and "
                f"{' '.join(other.alphabet)} cannot be compared"
            )
        seen: dict[tuple[int, int], tuple[int, ...]] = {(self.start, other.start): ()}
        queue = deque(seen)
        while queue:
            mine, theirs = pair = queue.popleft()
            if self.output[mine] != other.output[theirs]:
                return seen[pair]
            for token in range(self.num_symbols):
                follower = int(self.delta[mine, token]), int(other.delta[theirs, token])
                if follower not in seen:
                    seen[follower] = (*seen[pair], token)
                    queue.append(follower)
        return None

    def is_equivalent(self, other: "MooreMachine") -> bool:
        """Whether two machines label every word alike."""
        return self.counterexample(other) is None

    def to_json(self) -> str:
        """The machine as JSON text, for `from_json` and `ldru.task(path=...)`."""
        tables = {"delta": self.delta.tolist(), "output": self.output.tolist()}
        return json.dumps({"alphabet": list(self.alphabet), "start": self.start, **tables})

    @classmethod
    def from_json(cls, text: str) -> "MooreMachine":
        """A machine from JSON text with the keys alphabet, delta, output and, optionally, start."""
        try:
            data = parse_json(text)
        except (ValueError, RecursionError) as problem:
            raise LdruError(f"the machine is not valid JSON: {problem}") from problem
        if not isinstance(data, dict):
            raise LdruError(f"a machine is a JSON object, got {type(data).__name__}")
        missing = {"alphabet", "delta", "output"} - set(data)
        unknown = set(data) - {"alphabet", "delta", "output", "start"}
        if missing or unknown:
            raise LdruError(
                "a machine has the keys alphabet, delta, output and, optionally, start; "
                f"missing: {', '.join(sorted(missing)) or 'none'}, "
                f"unknown: {', '.join(sorted(unknown)) or 'none'}"
            )
        if not isinstance(data["alphabet"], list):
            raise LdruError(
                f"the alphabet is a list of strings, got {reprlib.repr(data['alphabet'])}"
            )
        return cls(**data)  # type: ignore[arg-type]

    @classmethod
    def read(cls, path: str | Path) -> "MooreMachine":
        """A machine from a JSON file."""
        text = read_text(Path(path))
        try:
            return cls.from_json(text)
        except LdruError as problem:
            raise LdruError(f"machine file {str(path)!r}: {problem}") from problem


def _reach_order(machine: MooreMachine) -> IntArray:
    """The states reachable from the start, breadth first in order of symbols."""
    order, seen = [machine.start], {machine.start}
    for state in order:
        for follower in machine.delta[state].tolist():
            if follower not in seen:
                seen.add(follower)
                order.append(follower)
    return np.array(order, dtype=np.int64)


def _integers(values: ArrayLike, *, name: str, axes: int) -> IntArray:
    """A table of whole numbers, copied."""
    try:
        array = np.array(values)
    except ValueError as problem:
        raise LdruError(f"{name} has rows of different lengths") from problem
    if array.ndim != axes or not np.issubdtype(array.dtype, np.integer):
        wanted = "a row of next states per state" if axes == 2 else "one label per state"
        raise LdruError(
            f"{name} must hold whole numbers, {wanted}; got shape {list(array.shape)} "
            f"of {array.dtype}"
        )
    return array.astype(np.int64)


def _check_alphabet(alphabet: tuple[str, ...]) -> None:
    if not alphabet:
        raise LdruError("the alphabet is empty: a machine needs at least one symbol")
    for symbol in alphabet:
        if not isinstance(symbol, str) or not symbol or any(c.isspace() for c in symbol):
            raise LdruError(
                f"symbols are non-empty strings without blanks, got {reprlib.repr(symbol)}"
            )
        if any("\ud800" <= c <= "\udfff" for c in symbol):
            raise LdruError(f"symbols are of characters that can be written, got {symbol[:80]!a}")
    if len(set(alphabet)) != len(alphabet):
        raise LdruError(f"the alphabet names a symbol twice: {' '.join(alphabet)[:200]}")


def _check_tables(
    alphabet: tuple[str, ...], delta: IntArray, output: IntArray, start: object
) -> None:
    states = len(output)
    check_limit("states", states, "a machine")
    check_limit("table_cells", states * len(alphabet), "a machine's table")
    if delta.shape != (states, len(alphabet)):
        raise LdruError(
            f"delta must be [{states} states, {len(alphabet)} symbols], as output and alphabet "
            f"say, got {list(delta.shape)}"
        )
    outside = np.argwhere((delta < 0) | (delta >= states))
    if len(outside):
        state, token = outside[0]
        raise LdruError(
            f"delta sends state {state} on {alphabet[token]!r} to {delta[state, token]}; "
            f"states run from 0 to {states - 1}"
        )
    if output.min() < UNLABELLED or not 0 <= output.max() < MAX_CLASSES:
        raise LdruError(
            f"output labels count from 0, below {MAX_CLASSES} ({UNLABELLED} for states outside the "
            "domain, not all), "
            f"got {output.tolist()[:20]}"
        )
    if not isinstance(start, int | np.integer) or not 0 <= start < states:
        raise LdruError(f"start must be a state from 0 to {states - 1}, got {start!r}")
