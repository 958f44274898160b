"""Groups against arithmetic that is written in other ways."""

import itertools
import json
from pathlib import Path

import numpy as np
import pytest

import ldru
from ldru.automata.groups import group, is_solvable
from ldru.automata.named import OTHERS

ORDERS = {
    "S3": 6, "S4": 24, "S5": 120, "A4": 12, "A5": 60, "Z60": 60, "C7": 7, "D8": 8, "D10": 10,
    "Q8": 8, "Q12": 12, "C2^3": 8, "A4xZ5": 60, "S3xZ2": 12,
}  # fmt: skip
ABELIAN = {"Z60", "C7", "C2^3"}


@pytest.mark.parametrize("name", ORDERS)
def test_laws_of_a_group(name):
    found = group(name)
    table, size = found.table, found.size
    assert size == ORDERS[name] == len(set(found.names))
    assert not any(symbol.split() != [symbol] for symbol in found.names)
    everything = np.arange(size)
    assert (table[0] == everything).all()
    assert (table[:, 0] == everything).all()
    assert (np.sort(table, axis=0) == everything[:, None]).all()
    assert (np.sort(table, axis=1) == everything).all()
    a, b, c = np.random.default_rng(0).integers(size, size=(3, 5000))
    assert (table[table[a, b], c] == table[a, table[b, c]]).all()
    assert (table == table.T).all() == (name in ABELIAN)
    reached = {0}
    while True:
        more = {int(table[x, g]) for x in reached for g in found.generators} - reached
        if not more:
            break
        reached |= more
    assert len(reached) == size


def matrix(cycles, points):
    """A permutation given by its cycles as a matrix that moves rows."""
    found = np.eye(points, dtype=int)
    if cycles != "e":
        for cycle in cycles.strip("()").split(")("):
            for here, there in zip(cycle, cycle[1:] + cycle[0], strict=True):
                found[int(here)] = np.eye(points, dtype=int)[int(there)]
    return found


@pytest.mark.parametrize(("name", "points"), [("S4", 4), ("A5", 5)])
def test_permutations_multiply_as_matrices(name, points):
    found = group(name)
    matrices = [matrix(cycles, points) for cycles in found.names]
    rng = np.random.default_rng(0)
    for one, two in rng.integers(found.size, size=(300, 2)):
        product = matrices[found.table[one, two]]
        assert (matrices[one] @ matrices[two] == product).all()


def test_symmetries_of_a_square_and_quaternions():
    """As matrices of whole and of complex numbers."""
    turn, mirror = np.array([[0, -1], [1, 0]]), np.array([[1, 0], [0, -1]])
    i, j = np.array([[1j, 0], [0, -1j]]), np.array([[0, 1], [-1, 0]])
    for name, (first, second) in {"D8": (turn, mirror), "Q8": (i, j)}.items():
        found = group(name)
        powers = [np.linalg.matrix_power(first, k) @ np.linalg.matrix_power(second, m)
                  for m in (0, 1) for k in range(4)]  # fmt: skip
        for one, two in itertools.product(range(8), repeat=2):
            assert np.allclose(powers[one] @ powers[two], powers[found.table[one, two]])


def test_word_problems():
    task = ldru.task("group_S3")
    assert task.machine.num_symbols == task.machine.num_classes == 6
    words = np.random.default_rng(0).integers(6, size=(50, 9))
    table = group("S3").table
    for word, label in zip(words, task.machine.run(words), strict=True):
        product = 0
        for symbol in word:
            product = table[product, symbol]
        assert label == product
    few = ldru.as_machine("group_S5_generators")
    assert few.alphabet == ("e", "(01)", "(01234)")
    identity = ldru.as_machine("group_S3_generators_identity")
    assert identity.run("(01) (01)") == 1
    assert identity.run("(01) (012)") == 0
    batch = ldru.task("group_A4_identity").draw_test(30, words=64, seed=0)
    assert batch.labels.double().mean() == 0.5


@pytest.mark.parametrize(
    ("name", "is_group", "is_aperiodic", "is_solvable", "complexity"),
    [
        ("group_S4", True, False, True, "ACC0"),
        ("group_A4xZ5", True, False, True, "ACC0"),
        ("group_A5", True, False, False, "NC1"),
        ("group_S5_generators", True, False, False, "NC1"),
        ("group_A5xZ2_generators", True, False, False, "NC1"),
        ("parity_check", True, False, True, "ACC0"),
        ("dyck_4", False, True, True, "AC0"),
        ("flip_flop", False, True, True, "AC0"),
        ("tomita_3", False, False, True, "ACC0"),
    ],
)
def test_what_a_monoid_is(name, is_group, is_aperiodic, is_solvable, complexity):
    found = ldru.monoid(name)
    assert (found.is_group, found.is_aperiodic, found.is_solvable) == (
        is_group, is_aperiodic, is_solvable,
    )  # fmt: skip
    assert found.complexity == complexity


def test_a_group_inside_a_monoid_is_found():
    """S5 and one map that forgets: no group, and yet not solvable."""
    machine = ldru.as_machine("group_S5_generators")
    reset = np.concatenate([machine.delta, np.zeros((120, 1), dtype=int)], axis=1)
    with_reset = ldru.MooreMachine(
        alphabet=["e", "s", "c", "r"], delta=reset, output=machine.output
    )
    found = ldru.monoid(with_reset)
    assert (found.is_group, found.is_aperiodic, found.is_solvable) == (False, False, False)


@pytest.mark.parametrize(
    ("regex", "is_star_free"),
    [("(ab)*", True), ("(aa)*", False), ("a*b*", True), ("(a|b)*abb", True), ("(ab|ba)*", True),
     ("(a(ab)*b)*", True), ("((a|b)(a|b))*", False), ("(aab)*", True), ("(a|bb)*", False)],
)  # fmt: skip
def test_star_free_expressions(regex, is_star_free):
    found = ldru.monoid(ldru.from_regex(regex, alphabet="ab"))
    by_powers = True
    for element in range(found.size):  # the definition, one product after the other
        seen, power = [], element
        while power not in seen:
            seen.append(power)
            power = int(found.table[power, element])
        by_powers &= power == seen[-1]
    assert found.is_aperiodic == by_powers == is_star_free


def test_solvable_by_the_definition():
    """All commutators of a small group, again and again."""
    for name in ("S3", "S4", "A4", "A5"):
        table = group(name).table
        inverse = np.argmin(table, axis=1)
        elements = set(range(len(table)))
        while True:
            commutators = {
                int(table[table[inverse[a], inverse[b]], table[a, b]])
                for a in elements for b in elements
            }  # fmt: skip
            derived = set(commutators)
            while more := {int(table[a, b]) for a in derived for b in derived} - derived:
                derived |= more
            if derived == elements:
                break
            elements = derived
        rows = [tuple(row) for row in table.T.tolist()]
        assert is_solvable(rows) == (len(elements) == 1)


def test_s5_takes_no_time_and_a_large_monoid_is_a_clear_error():
    assert ldru.monoid("group_S5").size == 120
    with pytest.raises(ldru.LdruError, match="more than 10000 elements"):
        ldru.monoid("random_30_2_0")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("group_Q7", "Q7 does not exist: Q_N has N elements, a multiple of 4"),
        ("group_D7", "D7 does not exist.*such as D8"),
        ("group_X5", "unknown group 'X5'"),
        ("group_S5x", "did you mean 'S5'"),
        ("group_S9", "more than 1,000 elements"),
        ("group_Z1", "has one element"),
        ("dyck_2_20", "more than 10,000 states"),
        ("dyck_20_2", "at most 14 kinds"),
        ("counter_1", "M of at least 2"),
        ("mod_arithmetic_1", "M of at least 2"),
        ("random_1_2_0", "at least two states"),
        ("flip_flo", "did you mean 'flip_flop'"),
        ("dyck_02_3", "unknown task"),
    ],
)
def test_languages_that_do_not_exist(name, message):
    with pytest.raises(ldru.LdruError, match=message):
        ldru.task(name)


def stack_accepts(word, depth):
    stack = []
    for symbol in word:
        if symbol in "([":
            stack.append(symbol)
        elif not stack or stack.pop() + symbol not in ("()", "[]"):
            return False
        if len(stack) > depth:
            return False
    return not stack


def test_brackets_of_two_kinds():
    machine = ldru.as_machine("dyck_2_3")
    for length in range(1, 8):
        for word in itertools.product("()[]", repeat=length):
            assert bool(machine.run("".join(word))) == stack_accepts(word, 3)


def test_binary_addition():
    machine = ldru.as_machine("binary_addition")
    for length in range(1, 13):
        for bits in itertools.product((0, 1), repeat=length):
            a, b, c = (sum(bit << i for i, bit in enumerate(bits[k::3])) for k in range(3))
            assert bool(machine.run(list(bits))) == (length % 3 == 0 and a + b == c)


def test_the_small_ones():
    for length in range(1, 9):
        for bits in itertools.product("01", repeat=length):
            word = "".join(bits)
            assert ldru.as_machine("first").run(word) == (word[0] == "1")
            assert ldru.as_machine("repeat_01").run(word) == (word == "01" * (length // 2))
            assert ldru.as_machine("counter_3").run(word) == word.count("1") % 3
    flip_flop = ldru.as_machine("flip_flop")
    assert [int(flip_flop.run(word)) for word in ("..", ".1..", "10.", "011.")] == [0, 1, 0, 1]
    arithmetic = ldru.as_machine("mod_arithmetic_12")
    assert arithmetic.run("11 x 11 + 7 - 2") == ((11 * 11 + 7) - 2) % 12


def test_random_machines_are_minimal_and_decided_by_their_name():
    for name in ("random_5_2_0", "random_12_3_7"):
        machine = ldru.as_machine(name)
        _, states, symbols, _ = name.split("_")
        assert machine.minimal().num_states == machine.num_states == int(states)
        assert machine.num_symbols == int(symbols)
        assert machine.to_json() == ldru.as_machine(name).to_json()
    assert not ldru.as_machine("random_5_2_0").is_equivalent(ldru.as_machine("random_5_2_1"))


def test_permutations_in_a_file(tmp_path):
    path = tmp_path / "group.json"
    path.write_text(json.dumps({"permutations": {"a": [1, 0, 2], "b": [1, 2, 0]}}))
    task = ldru.task(path=path)
    assert task.machine.num_states == 6
    assert ldru.monoid(task).is_group
    assert task.machine.run("aa") == task.machine.run("bbb")
    for wrong, message in (
        ({"permutations": {"a": [1, 1, 2]}}, "each of 0 to 2 once"),
        ({"permutations": {"a": [0, 1]}}, "all the identity"),
        ({"permutations": {}}, "at least one"),
        ({"permutations": {"a": "10"}}, "list of whole numbers"),
        ({"permutations": {"a": [1, 0]}, "start": 0}, "a group is"),
    ):
        path.write_text(json.dumps(wrong))
        with pytest.raises(ldru.LdruError, match=message):
            ldru.task(path=path)


def test_the_docs_say_what_is_computed():
    text = (Path(__file__).parents[2] / "docs" / "languages.md").read_text()
    rows = text.split("<!-- languages -->")[1].split("<!-- /languages -->")[0].split("\n")
    told = [[cell.strip(" `") for cell in row.strip("|").split("|")] for row in rows[3:] if row]
    assert [name for name, *_ in told] == [name for names in OTHERS.values() for name in names]
    words = {True: "yes", False: "no"}
    for name, *cells in told:
        found = ldru.monoid(name)
        machine = found.machine
        sizes = (machine.num_symbols, machine.num_states, found.size)
        kinds = (found.is_group, found.is_aperiodic, found.is_solvable)
        want = [*(f"{size:,}" for size in sizes), *(words[kind] for kind in kinds)]
        assert cells == [*want, found.complexity], name
