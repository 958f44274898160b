"""Finite groups by their names, as tables, and the word problem of a group as a machine.

A word over a group is a product, read from left to right: which element is it? A machine needs a
state for each element. Which groups a model of little depth can keep track of is a question by
which transformers and state-space models are told apart.

Names: S5 and A5 (all, and all even, permutations of five points), Z60 or C60 (the numbers modulo
60), D8 (the dihedral group of eight elements, the symmetries of a square), Q8 (quaternions; Q12,
Q16, ... are dicyclic), products A4xZ5, powers C2^3.
"""

import itertools
import math
import re
import reprlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from ldru.automata.machine import IntArray, MooreMachine
from ldru.base.errors import LdruError, unknown_name
from ldru.base.limits import check_limit

MAX_ELEMENTS = 1_000
"""S6 has 720. The table of a group of n elements has n^2 entries."""

POINTS = "0123456789abcdefghijklmnopqrstuvwxyz"
"""How points are called in cycles."""

KNOWN = ("S3", "S4", "S5", "A4", "A5", "Z60", "C2^3", "D8", "Q8", "A4xZ5")
"""What an error lists as examples."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Group:
    """A finite group as the table of its products; element 0 is the identity.

    names: of the elements, without blanks.
    table: the product of two elements, the first on the left [size, size].
    generators: elements whose products are all others.
    """

    names: tuple[str, ...]
    table: IntArray
    generators: tuple[int, ...]

    @property
    def size(self) -> int:
        return len(self.names)

    def word_problem(self, *, alphabet: str = "elements", labels: str = "product") -> MooreMachine:
        """The machine that multiplies the symbols of a word.

        alphabet: "elements", or "generators" and the identity.
        labels: the number of the "product", or whether it is the "identity".
        """
        symbols = [*range(self.size)] if alphabet == "elements" else [0, *self.generators]
        output = np.arange(self.size) if labels == "product" else np.arange(self.size) == 0
        return MooreMachine(
            alphabet=[self.names[symbol] for symbol in symbols],
            delta=self.table[:, symbols],
            output=output.astype(np.int64),
        )


def group(name: str) -> Group:
    """A group by its name, such as S5, A4xZ5 or C2^3."""
    factors = []
    for part in name.split("x"):
        found = re.fullmatch(r"([A-Z])([1-9][0-9]{0,3})(?:\^([1-9][0-9]{0,3}))?", part)
        if not found or found[1] not in FAMILIES:
            raise unknown_name("group", name, KNOWN)
        family, size, power = found[1], int(found[2]), int(found[3] or 1)
        order = FAMILIES[family].order(size)
        factors += [(family, size, order)] * power
        if math.prod(order for *_, order in factors) > MAX_ELEMENTS:
            raise LdruError(
                f"the group {name} has more than {MAX_ELEMENTS:,} elements; choose it smaller"
            )
    if math.prod(order for *_, order in factors) == 1:
        raise LdruError(f"the group {name} has one element: there is nothing to learn")
    made = [FAMILIES[family].make(size) for family, size, _ in factors]
    return made[0] if len(made) == 1 else _product(made)


def group_of_permutations(generators: dict[str, Sequence[int]]) -> MooreMachine:
    """The machine that multiplies permutations, given by name as the images of points 0, 1, ...

    A state is a product; its label is its number in the order in which words reach it. A product is
    read from left to right: the first permutation acts first.
    """
    if not generators:
        raise LdruError("a group of permutations needs at least one of them")
    points = len(next(iter(generators.values())))
    for name, images in generators.items():
        if sorted(images) != list(range(points)):
            raise LdruError(
                f"the permutation {name!r} must hold each of 0 to {points - 1} once, got "
                f"{reprlib.repr(list(images))}"
            )
    moves = [tuple(images) for images in generators.values()]
    identity = tuple(range(points))
    elements, delta = {identity: 0}, []
    for element in (waiting := [identity]):
        row = []
        for move in moves:
            product = tuple(move[image] for image in element)
            if product not in elements:
                if len(elements) >= MAX_ELEMENTS:
                    raise LdruError(
                        f"these permutations make a group of more than {MAX_ELEMENTS:,} elements"
                    )
                check_limit("monoid_cells", points * len(elements), "the group")
                elements[product] = len(elements)
                waiting.append(product)
            row.append(elements[product])
        delta.append(row)
    if len(elements) == 1:
        raise LdruError("these permutations are all the identity: there is nothing to learn")
    return MooreMachine(alphabet=generators, delta=delta, output=range(len(elements)))


@dataclass(frozen=True)
class Family:
    """Groups of one kind by a number: how many elements there are, and how they are made."""

    order: Callable[[int], int]
    make: Callable[[int], Group]


def symmetric(points: int) -> Group:
    """All permutations, generated by a swap and a cycle."""
    if points == 1:
        return _from_permutations([(0,)], [])
    swap = (1, 0, *range(2, points))
    cycle = (*range(1, points), 0)
    elements = list(itertools.permutations(range(points)))
    return _from_permutations(elements, list(dict.fromkeys([swap, cycle])))


def alternating(points: int) -> Group:
    """The even permutations, generated by a cycle of three and a long one."""
    elements = [p for p in itertools.permutations(range(points)) if _is_even(p)]
    if points < 3:
        return _from_permutations(elements, [])
    three = (1, 2, 0, *range(3, points))
    long = (*range(1, points), 0) if points % 2 else (0, *range(2, points), 1)
    return _from_permutations(elements, list(dict.fromkeys([three, long])))


def cyclic(size: int) -> Group:
    """The numbers modulo a size."""
    numbers = np.arange(size)
    return Group(
        names=tuple(map(str, range(size))),
        table=(numbers[:, None] + numbers) % size,
        generators=(1,) if size > 1 else (),
    )


def dihedral(size: int) -> Group:
    """The symmetries of a polygon with size / 2 corners: turns r, and a mirror s."""
    corners = size // 2
    return _turns_and_mirrors(corners, square=0, letters=("r", "s"))


def dicyclic(size: int) -> Group:
    """Q8 and its kin: turns a of order size / 2, and b with b^2 the half turn."""
    return _turns_and_mirrors(size // 2, square=size // 4, letters=("a", "b"))


def _turns_and_mirrors(turns: int, *, square: int, letters: tuple[str, str]) -> Group:
    """Elements r^k s^j with j in (0, 1), s r = r^-1 s, and s^2 = r^square."""

    def name(k: int, j: int) -> str:
        turn = {0: "", 1: letters[0]}.get(k, f"{letters[0]}{k}")
        return (turn + letters[1] * j) or "e"

    elements = [(k, j) for j in (0, 1) for k in range(turns)]
    number = {element: index for index, element in enumerate(elements)}

    def product(one: tuple[int, int], two: tuple[int, int]) -> int:
        (k, j), (m, n) = one, two
        turn = k + (-m if j else m) + (square if j and n else 0)
        return number[turn % turns, (j + n) % 2]

    return Group(
        names=tuple(name(*element) for element in elements),
        table=np.array([[product(one, two) for two in elements] for one in elements]),
        generators=tuple(index for index in (number[1 % turns, 0], number[0, 1]) if index),
    )


def _from_permutations(
    elements: Sequence[tuple[int, ...]], generators: Sequence[tuple[int, ...]]
) -> Group:
    """The first permutation of a product acts first."""
    array = np.array(elements)
    points = array.shape[1]
    places = points ** np.arange(points)
    codes = array @ places
    order = np.argsort(codes)
    # (p q)(i) = q(p(i)): rows of q, read at the images of p.
    products = np.stack([(array[:, row] @ places) for row in array])
    table = order[np.searchsorted(codes, products, sorter=order)]
    number = {element: index for index, element in enumerate(elements)}
    return Group(
        names=tuple(map(_cycles, elements)),
        table=table,
        generators=tuple(number[generator] for generator in generators),
    )


def _cycles(permutation: Sequence[int]) -> str:
    """A permutation as its cycles, (012)(34); the identity is e."""
    seen: set[int] = set()
    text = ""
    for start in range(len(permutation)):
        cycle = []
        point = start
        while point not in seen:
            seen.add(point)
            cycle.append(POINTS[point])
            point = permutation[point]
        if len(cycle) > 1:
            text += f"({''.join(cycle)})"
    return text or "e"


def _is_even(permutation: Sequence[int]) -> bool:
    pairs = itertools.combinations(permutation, 2)
    return sum(first > second for first, second in pairs) % 2 == 0


def _product(factors: Sequence[Group]) -> Group:
    """Elements of each factor side by side; the last factor's change first."""
    first, *others = factors
    for other in others:
        size = other.size
        left, right = np.divmod(np.arange(first.size * size), size)
        table = first.table[left[:, None], left] * size + other.table[right[:, None], right]
        first = Group(
            names=tuple(f"{a}|{b}" for a in first.names for b in other.names),
            table=table,
            generators=(*(g * size for g in first.generators), *other.generators),
        )
    return first


def _even_number(family: str, size: int, *, divisor: int, least: int) -> int:
    if size % divisor or size < least:
        raise LdruError(
            f"{family}{size} does not exist: {family}_N has N elements, a multiple of {divisor} "
            f"from {least} on, such as {family}8"
        )
    return size


FAMILIES = {
    "S": Family(lambda n: math.factorial(min(n, 20)), symmetric),
    "A": Family(lambda n: max(1, math.factorial(min(n, 20)) // 2), alternating),
    "Z": Family(lambda n: n, cyclic),
    "C": Family(lambda n: n, cyclic),
    "D": Family(lambda n: _even_number("D", n, divisor=2, least=4), dihedral),
    "Q": Family(lambda n: _even_number("Q", n, divisor=4, least=8), dicyclic),
}


Permutation = tuple[int, ...]
LEAST_UNSOLVABLE = 60
"""A5 is the smallest group that is not solvable."""


def is_solvable(group: Sequence[Permutation]) -> bool:
    """Whether commutators of commutators of ... of a group of permutations come to an end.

    group: all of its elements.
    """
    elements = set(group)
    while len(elements) >= LEAST_UNSOLVABLE:
        derived = _derived(elements)
        if len(derived) == len(elements):
            return False
        elements = derived
    return True


def _derived(elements: set[Permutation]) -> set[Permutation]:
    """The group that commutators generate: of generators, with all their conjugates."""
    generators = _generators(elements)
    commutators = {
        _times(_times(_inverse(a), _inverse(b)), _times(a, b))
        for a in generators
        for b in generators
    }
    found = _closure(commutators)
    while True:
        conjugates = {
            _times(_times(_inverse(g), c), g) for g in generators for c in commutators
        } - found
        if not conjugates:
            return found
        commutators |= conjugates
        found = _closure(commutators)


def _generators(elements: set[Permutation]) -> list[Permutation]:
    """Some elements that generate all: each one at least doubles what those before generate."""
    chosen: list[Permutation] = []
    found = _closure(chosen, points=len(next(iter(elements))))
    for element in sorted(elements):
        if element not in found:
            chosen.append(element)
            found = _closure(chosen)
    return chosen


def _closure(generators: Iterable[Permutation], *, points: int = 0) -> set[Permutation]:
    moves = list(generators)
    identity = tuple(range(len(moves[0]) if moves else points))
    found, waiting = {identity}, [identity]
    for element in waiting:
        for move in moves:
            product = _times(element, move)
            if product not in found:
                found.add(product)
                waiting.append(product)
    return found


def _times(first: Permutation, second: Permutation) -> Permutation:
    return tuple(second[image] for image in first)


def _inverse(permutation: Permutation) -> Permutation:
    inverse = [0] * len(permutation)
    for point, image in enumerate(permutation):
        inverse[image] = point
    return tuple(inverse)
