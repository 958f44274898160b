"""The decision procedure against every word up to length 11, and against long words."""

import itertools

import numpy as np
import pytest

import ldru
from ldru.analysis.algebra import UNMET, Algebra
from ldru.analysis.verdict import decide

LONGEST = 11


def random_machine(rng, *, is_partial):
    states = int(rng.integers(1, 4))
    output = rng.integers(-1 if is_partial else 0, 2, size=states)
    output[0] = 0
    delta = rng.integers(states, size=(states, 2))
    return ldru.MooreMachine(alphabet="01", delta=delta, output=output).minimal()


def random_algebra(rng, *, num_classes):
    size = int(rng.integers(1, 6))
    return Algebra(
        leaf=rng.integers(size, size=2),
        pair=rng.integers(size, size=(size, size)),
        carry=rng.integers(size, size=size),
        answer=rng.integers(max(1, num_classes), size=size),
    )


def faithful_algebra(rng, monoid, *, copies=3):
    """Several states for each class, taken at random: right on every word."""
    kinds = np.repeat(np.arange(monoid.size), copies)

    def some(classes):
        return classes * copies + rng.integers(copies, size=classes.shape)

    return Algebra(
        leaf=some(monoid.step[0]),
        pair=some(monoid.table[kinds[:, None], kinds[None]]),
        carry=some(kinds),
        answer=np.maximum(monoid.output, 0)[kinds],
    )


def spoiled(rng, algebra):
    """One entry of one table set to another value."""
    tables = {name: np.array(value) for name, value in vars(algebra).items() if name[0] != "_"}
    name = str(rng.choice(["pair", "carry", "answer"], p=[0.6, 0.2, 0.2]))
    place = tuple(rng.integers(size) for size in tables[name].shape)
    tables[name][place] = rng.integers(2 if name == "answer" else algebra.num_states)
    return Algebra(**tables)


def literal_nodes(algebra, words, height):
    """The states of the nodes of that height over words [..., length], by the definition."""
    if height == 0:
        return algebra.leaf[words[:, 0]]
    half = 2 ** (height - 1)
    left = literal_nodes(algebra, words[:, :half], height - 1)
    if words.shape[1] <= half:
        return algebra.carry[left]
    return algebra.pair[left, literal_nodes(algebra, words[:, half:], height - 1)]


def literal_answers(algebra, words):
    return algebra.answer[literal_nodes(algebra, words, (words.shape[1] - 1).bit_length())]


ALL_WORDS = {
    length: np.array(list(itertools.product((0, 1), repeat=length)))
    for length in range(1, LONGEST + 1)
}


def shortest_wrong_length(algebra, machine):
    """By trying every word up to length 11."""
    for length, words in ALL_WORDS.items():
        wanted = machine.run(words)
        if ((wanted >= 0) & (literal_answers(algebra, words) != wanted)).any():
            return length
    return None


@pytest.mark.parametrize("is_partial", [False, True])
@pytest.mark.parametrize("kind", ["random", "faithful", "spoiled"])
def test_every_word_up_to_11_is_judged_as_brute_force_does(kind, is_partial):
    rng = np.random.default_rng(["random", "faithful", "spoiled"].index(kind) + 10 * is_partial)
    late = 0
    for _ in range(200 if kind == "faithful" else 400):
        machine = random_machine(rng, is_partial=is_partial)
        monoid = ldru.monoid(machine)
        if kind == "random":
            algebra = random_algebra(rng, num_classes=machine.num_classes)
        else:
            algebra = faithful_algebra(rng, monoid)
            if kind == "spoiled":
                algebra = spoiled(rng, algebra)
        verdict = decide(algebra, monoid)
        assert verdict.is_closed
        if kind == "faithful":
            assert verdict.is_correct
        wanted = shortest_wrong_length(algebra, machine)
        if wanted is None:
            assert verdict.wrong_length is None or verdict.wrong_length > LONGEST
        else:
            assert verdict.wrong_length == wanted
        if verdict.wrong is not None:
            assert len(verdict.wrong) == verdict.wrong_length
            word = np.array([verdict.wrong])
            assert machine.run(word) >= 0
            assert literal_answers(algebra, word) != machine.run(word)
        late += (wanted or 0) > 4
    assert kind != "spoiled" or late > 10  # else only easy mistakes were tried


def test_what_a_state_stands_for_is_what_words_show():
    rng = np.random.default_rng(3)
    for _ in range(50):
        machine = random_machine(rng, is_partial=False)
        monoid = ldru.monoid(machine)
        algebra = random_algebra(rng, num_classes=machine.num_classes)
        served = decide(algebra, monoid).served
        for words in ALL_WORDS.values():
            for height in range(5):
                parts = words[:, : 2**height]
                assert served[literal_nodes(algebra, parts, height), monoid.classify(parts)].all()


def test_nodes_that_no_expression_has_are_not_followed():
    """Digits stand at odd places, so no node of two symbols begins with an operator."""
    machine = ldru.task("modular_arithmetic").machine.minimal()
    monoid = ldru.monoid(machine)
    algebra = Algebra(
        leaf=monoid.step[0],
        pair=monoid.table,
        carry=np.arange(monoid.size),
        answer=monoid.output,
    )
    verdict = decide(algebra, monoid)
    assert verdict.is_correct
    assert not verdict.served[monoid.classify("+1")].any()
    assert not verdict.served[monoid.classify("11")].any()
    assert verdict.served[monoid.classify("1+"), monoid.classify("1+")]


def test_levels_that_alternate_are_a_proof_too():
    """Full nodes of a walk on three places repeat with period two: 2^k is 1, 2, 1, 2, ... mod 3."""
    machine = ldru.MooreMachine(alphabet="0", delta=[[1], [2], [0]], output=[0, 1, 2])
    monoid = ldru.monoid(machine)
    algebra = Algebra(
        leaf=monoid.step[0],
        pair=monoid.table,
        carry=np.arange(monoid.size),
        answer=monoid.output,
    )
    verdict = decide(algebra, monoid)
    assert verdict.is_correct
    assert verdict.levels > 2


def test_a_late_mistake_is_found_and_rebuilt():
    """A chain of states counts levels; the answer is wrong from a height on."""
    machine = ldru.MooreMachine(alphabet="0", delta=[[0]], output=[0])
    height = 12
    states = np.arange(height + 1)
    algebra = Algebra(
        leaf=np.array([0]),
        pair=np.minimum(np.maximum(states[:, None], states[None]) + 1, height),
        carry=np.minimum(states + 1, height),
        answer=(states == height).astype(np.int64),
    )
    verdict = decide(algebra, ldru.monoid(machine))
    assert verdict.wrong_length == 2 ** (height - 1) + 1
    assert verdict.wrong == (0,) * verdict.wrong_length
    assert algebra.run(np.zeros((1, verdict.wrong_length), dtype=int)) == 1
    open_end = decide(algebra, ldru.monoid(machine), max_levels=5)
    assert not open_end.is_closed
    assert (open_end.longest, open_end.wrong_length) == (16, None)


@pytest.mark.parametrize("length", [1, 2, 3, 7, 8, 9, 33, 64, 1000])
def test_an_algebra_runs_as_its_definition_says(length):
    rng = np.random.default_rng(length)
    algebra = random_algebra(rng, num_classes=3)
    words = rng.integers(2, size=(7, length))
    assert (algebra.run(words) == literal_answers(algebra, words)).all()
    assert algebra.run(words[0]) == algebra.run(words)[0]


def test_an_algebra_says_where_it_knows_nothing():
    algebra = Algebra(
        leaf=np.array([0, 1]),
        pair=np.array([[0, UNMET], [1, 1]]),
        carry=np.array([0, UNMET]),
        answer=np.array([0, 1]),
    )
    assert algebra.run([[0, 0], [0, 1], [1, 0]]).tolist() == [0, -1, 1]
    assert algebra.run([0, 0, 1]) == -1
    with pytest.raises(ldru.LdruError, match="tokens run from 0 to 1"):
        algebra.run([0, 2])
    with pytest.raises(ldru.LdruError, match="length of at least 1"):
        algebra.run(np.zeros((3, 0), dtype=int))


def test_a_stream_of_an_algebra_is_its_run():
    """Of random tables, of which some words need entries that are not there."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        algebra = random_algebra(rng, num_classes=3)
        pair = np.where(rng.random(algebra.pair.shape) < 0.1, UNMET, algebra.pair)
        algebra = Algebra(leaf=algebra.leaf, pair=pair, carry=algebra.carry, answer=algebra.answer)
        words = rng.integers(2, size=(3, 40))
        stream, begin = algebra.stream(batch=3), 0
        while begin < 40:
            size = int(rng.integers(1, 9))
            stream.push(words[:, begin : begin + size])
            begin = min(40, begin + size)
            assert np.array_equal(stream.labels(), algebra.run(words[:, :begin]))
    with pytest.raises(ldru.LdruError, match="tokens run from 0 to 1"):
        stream.push([2, 0, 0])
