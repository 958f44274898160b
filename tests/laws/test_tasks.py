"""What every task must satisfy: exact labels, and the shares that its sampling rules predict."""

import itertools
import math
import re

import numpy as np
import pytest
import torch
from scipy import stats

import ldru
from ldru import TASKS

# ---- labels: checks that share nothing with the machines ----


def even_pairs(w):
    return sum(a != b for a, b in itertools.pairwise(w)) % 2


def parity_check(w):
    return int(sum(w) % 2 == 0)


def cycle_navigation(w):
    return sum({0: 0, 1: 1, 2: -1}[t] for t in w) % 5


def modular_arithmetic(w):
    value = w[0]
    for operator, digit in zip(w[1::2], w[2::2], strict=True):
        value = {5: value + digit, 6: value - digit, 7: value * digit}[operator] % 5
    return value


def dyck(depth):
    def check(w):
        level = 0
        for token in w:
            level += 1 if token == 0 else -1
            if not 0 <= level <= depth:
                return 0
        return int(level == 0)

    return check


def tomita_3(w):
    runs = [(symbol, len(list(group))) for symbol, group in itertools.groupby(w)]
    bad = any(a == 1 and n % 2 and b == 0 and m % 2 for (a, n), (b, m) in itertools.pairwise(runs))
    return int(not bad)


def text_matches(pattern):
    return lambda w: int(re.fullmatch(pattern, "".join(map(str, w))) is not None)


def prefix(p, q):
    return lambda w: 0 if len(w) < p else 1 + int("".join(map(str, w[:p])), q)


CHECKS = {
    "even_pairs": even_pairs,
    "parity_check": parity_check,
    "cycle_navigation": cycle_navigation,
    "modular_arithmetic": modular_arithmetic,
    **{f"dyck_{n}": dyck(n) for n in (2, 3, 4, 6, 8, 12)},
    "tomita_3": tomita_3,
    "tomita_4": lambda w: int("000" not in "".join(map(str, w))),
    "tomita_5": lambda w: int(w.count(0) % 2 == 0 and w.count(1) % 2 == 0),
    "tomita_6": lambda w: int((w.count(1) - w.count(0)) % 3 == 0),
    "tomita_7": text_matches("0*1*0*1*"),
    **{f"prefix_{p}_{q}": prefix(p, q) for p in (1, 2, 4) for q in (2, 4)},
}


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def test_the_papers_21_tasks_are_there():
    assert set(TASKS) == set(CHECKS)
    assert len(TASKS) == 21


@pytest.mark.parametrize("name", [n for n in TASKS if n != "modular_arithmetic"])
def test_labels_are_right_on_every_short_word(name):
    machine, check = TASKS[name].machine, CHECKS[name]
    longest = {2: 12, 3: 8, 4: 6}[machine.num_symbols]
    for length in range(1, longest + 1):
        words = np.array(list(itertools.product(range(machine.num_symbols), repeat=length)))
        assert machine.run(words).tolist() == [check(w) for w in map(tuple, words.tolist())]


def test_labels_of_expressions():
    machine = TASKS["modular_arithmetic"].machine
    turns = [range(5), range(5, 8)]
    for length in (1, 3, 5):
        words = list(itertools.product(*(turns[i % 2] for i in range(length))))
        assert machine.run(words).tolist() == [modular_arithmetic(w) for w in words]
    for invalid in ("3+", "33", "+3", "3+x4"):
        assert machine.run(machine.encode(invalid)) == -1


@pytest.mark.parametrize("name", TASKS)
@pytest.mark.parametrize("split", ["train", "test"])
def test_sampled_labels_are_right(name, split):
    task = TASKS[name]
    for length in (1, 2, 3, 7, 8, 33, 40, 100):
        batch = task.sample(batch_size=64, length=length, split=split, generator=generator(length))
        words = [tuple(word) for word in batch.tokens.tolist()]
        assert batch.tokens.shape == (
            64,
            length - (name == "modular_arithmetic" and length % 2 == 0),
        )
        assert batch.labels.tolist() == [CHECKS[name](word) for word in words]


@pytest.mark.parametrize("name", TASKS)
def test_the_same_generator_gives_the_same_batch(name):
    first, second, other = (
        TASKS[name].sample(batch_size=32, length=20, generator=generator(seed))
        for seed in (1, 1, 2)
    )
    assert torch.equal(first.tokens, second.tokens)
    assert torch.equal(first.labels, second.labels)
    assert not torch.equal(first.tokens, other.tokens)


def test_a_generator_moves_on():
    g = generator()
    first = TASKS["parity_check"].sample(batch_size=32, length=20, generator=g)
    second = TASKS["parity_check"].sample(batch_size=32, length=20, generator=g)
    assert not torch.equal(first.tokens, second.tokens)


# ---- shares ----


def assert_share(count, total, expected):
    """The count is within six deviations of a binomial with that share."""
    deviation = math.sqrt(max(total * expected * (1 - expected), 1e-9))
    assert abs(count - total * expected) <= 6 * deviation + 1e-6


@pytest.mark.parametrize("name", [n for n in TASKS if not n.startswith(("dyck", "tomita"))])
@pytest.mark.parametrize("length", [1, 2, 5, 6])
def test_uniform_tasks_have_the_shares_of_all_words(name, length):
    task = TASKS[name]
    length = task.word_length(length)
    if name == "modular_arithmetic":
        turns = [range(5), range(5, 8)]
        words = np.array(list(itertools.product(*(turns[i % 2] for i in range(length)))))
    else:
        words = np.array(list(itertools.product(range(task.vocab_size), repeat=length)))
    expected = np.bincount(task.machine.run(words), minlength=task.num_classes) / len(words)
    batch = task.sample(batch_size=20_000, length=length, generator=generator(3))
    counts = torch.bincount(batch.labels, minlength=task.num_classes).tolist()
    for count, share in zip(counts, expected, strict=True):
        assert_share(count, 20_000, share)


@pytest.mark.parametrize("name", [n for n in TASKS if n.startswith("tomita")])
@pytest.mark.parametrize("length", [1, 2, 3, 6, 12, 40])
def test_tomita_halves(name, length):
    """Each half holds min(half, accepted candidates); the rest keep their true labels."""
    task, half, draws = TASKS[name], 500, 8
    accepts = _accept_rate(name, length)
    positives = sum(
        int(task.sample(batch_size=2 * half, length=length, generator=generator(s)).labels.sum())
        for s in range(draws)
    )
    factor_positive, rate_positive = {
        "tomita_3": (2, accepts["walk"]),
        "tomita_4": (1, 1.0),
        "tomita_5": (5, accepts["uniform"]),
        "tomita_6": (4, accepts["uniform"]),
        "tomita_7": (1, 1.0),
    }[name]
    factor_negative = {"tomita_3": 2.5, "tomita_4": 3, "tomita_5": 2, "tomita_6": 2, "tomita_7": 5}
    rejected = (1 - accepts["uniform"]) * factor_negative[name] * half
    expected = min(half, factor_positive * half * rate_positive) + half - min(half, rejected)
    # The minimum of a random count and a constant bends by half a deviation at most.
    deviation = math.sqrt(half)
    slack = 5 * deviation * draws**0.5 + 0.8 * deviation * draws
    assert abs(positives - draws * expected) <= slack


@pytest.mark.parametrize("length", [8, 16, 40])
def test_tomita_7_goes_on_at_the_stated_rate(length):
    """Positives: stay with 1 - 4/max(length, 16) in the first three runs, always in the last."""
    rows = 4000
    batch = TASKS["tomita_7"].sample(batch_size=2 * rows, length=length, generator=generator(9))
    words = batch.tokens[:rows].numpy()
    machine = TASKS["tomita_7"].machine
    states = [machine.final_states(words[:, :n]) for n in range(length + 1)]
    here, after = np.stack(states[:-1]), np.stack(states[1:])
    for state in range(3):
        chances = int((here == state).sum())
        moves = int(((here == state) & (after == state + 1)).sum())
        assert_share(moves, chances, 4 / max(length, 16))
    assert (after[here == 3] == 3).all()


def test_tomita_4_positives_are_uniform_but_for_the_forbidden_move():
    batch = TASKS["tomita_4"].sample(batch_size=8000, length=12, generator=generator(9))
    words = batch.tokens[:4000].numpy()
    machine = TASKS["tomita_4"].machine
    for place in range(12):
        state = machine.final_states(words[:, :place])
        zeros = words[:, place] == 0
        assert not zeros[state == 2].any()
        assert_share(int(zeros[state != 2].sum()), int((state != 2).sum()), 0.5)


def _accept_rate(name, length):
    """Shares of accepted words: exactly by counting paths, uniform or with the walk's weights."""
    machine = TASKS[name].machine
    uniform = np.zeros(machine.num_states)
    uniform[machine.start] = 1
    walk = uniform.copy()
    for _ in range(length):
        uniform = sum(
            np.bincount(machine.delta[:, t], uniform / 2, machine.num_states) for t in (0, 1)
        )
        zero = np.where(np.arange(machine.num_states) == 3, 1.0, 0.5)
        walk = np.bincount(machine.delta[:, 0], walk * zero, machine.num_states) + np.bincount(
            machine.delta[:, 1], walk * (1 - zero), machine.num_states
        )
    accepted = machine.output == 1
    return {"uniform": uniform[accepted].sum(), "walk": walk[accepted].sum()}


@pytest.mark.parametrize("depth", [2, 3, 6, 12])
@pytest.mark.parametrize("split", ["train", "test"])
def test_dyck_shares(depth, split):
    task = ldru.task(f"dyck_{depth}")
    for length in (2, 10, 40, 41, 1):
        batch = task.sample(batch_size=2000, length=length, split=split, generator=generator(5))
        positive, negative = batch.labels[:1000], batch.labels[1000:]
        if length % 2:
            assert batch.labels.sum() == 0
        else:
            assert positive.all()
            uniform = ldru.automata.counting.WordCounts(task.machine, label=1).words(length)
            assert_share(int(negative.sum()), 1000, uniform / 2**length)


@pytest.mark.parametrize("split", ["train", "test"])
def test_dyck_positives_follow_the_formula(split):
    """The share of closings in each (open, left), against the formula; noise by integration."""
    depth, length, rows = 4, 12, 40_000
    task = ldru.task(f"dyck_{depth}")
    words = task.sample(batch_size=2 * rows, length=length, split=split, generator=generator(7))
    tokens = words.tokens[:rows].numpy()
    level = np.concatenate([np.zeros((rows, 1), int), np.cumsum(1 - 2 * tokens, axis=1)], axis=1)
    normal = np.random.default_rng(0).normal(0, 0.15, 400_000)
    for place in range(length):
        left = length - place
        for opened in range(depth + 1):
            here = level[:, place] == opened
            if here.sum() < 500:
                continue
            closes = tokens[here, place].sum()
            if opened == 0:
                assert closes == 0
            elif opened in (depth, left):
                assert closes == here.sum()
            else:
                share = opened * (left + opened + 2) / (2 * left * (opened + 1))
                if split == "train":
                    share = np.clip(share + normal - 0.1 * opened / depth, 0, 1).mean()
                assert_share(closes, here.sum(), share)


# ---- tasks of any machine ----


@pytest.mark.parametrize(
    ("regex", "length"), [("(01)*|1(0|1)*", 6), ("(0|1)*00(0|1)*", 5), ("(a|bb)*c?", 5)]
)
def test_exact_sampler_is_uniform_on_each_class(regex, length):
    task = ldru.task(regex=regex)
    words = np.array(list(itertools.product(range(task.vocab_size), repeat=length)))
    labels = task.machine.run(words)
    batch = task.sample(batch_size=40_000, length=length, generator=generator(11))
    code = task.vocab_size ** np.arange(length)[::-1]
    for label in (0, 1):
        sampled = batch.tokens[batch.labels == label].numpy() @ code
        assert len(sampled) == 20_000
        counts = np.bincount(sampled, minlength=task.vocab_size**length)
        assert counts[labels != label].sum() == 0
        if (labels == label).sum() > 1:
            assert stats.chisquare(counts[labels == label]).pvalue > 1e-4


def test_exact_sampler_says_when_a_class_is_empty():
    task = ldru.task(regex="(01)*")
    assert task.empty_classes(3) == [1]
    assert task.empty_classes(4) == []
    batch = task.sample(batch_size=10, length=3, generator=generator())
    assert batch.labels.sum() == 0


def test_a_machine_of_long_words_is_sampled_at_its_nearest_length():
    machine = ldru.MooreMachine(
        alphabet="ab", delta=[[1, 1], [2, 2], [3, 4], [3, 4], [4, 3]], output=[-1, -1, -1, 0, 1]
    )
    task = ldru.task(machine=machine)
    assert [task.word_length(n) for n in (1, 2, 3, 9)] == [3, 3, 3, 9]
    assert TASKS["modular_arithmetic"].word_length(40) == 39
    finite = ldru.MooreMachine(
        alphabet="ab", delta=[[1, 1], [2, 3], [4, 4], [4, 4], [4, 4]], output=[-1, -1, 0, 1, -1]
    )
    assert ldru.task(machine=finite).word_length(4) == 2
    with pytest.raises(ldru.LdruError, match="no labelled words of length 500"):
        ldru.task(machine=finite).word_length(500)


def test_tasks_by_every_way(tmp_path):
    machine = ldru.from_regex("(01)*")
    (tmp_path / "lang.json").write_text(machine.to_json())
    by_path = ldru.task(path=tmp_path / "lang.json")
    assert by_path.name == "lang"
    assert by_path.machine.is_equivalent(ldru.task(regex="(01)*").machine)
    assert ldru.task(machine=machine).machine is machine
    assert ldru.task("dyck_5").machine.num_states == 7
    assert ldru.task("prefix_3_2").num_classes == 9


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": "parity"}, "unknown task 'parity'.*did you mean 'parity_check'.*dyck_N"),
        ({"name": "dyck_0"}, "N of at least 1"),
        ({"name": "prefix_12_4"}, "classes"),
        ({"name": "prefix_9999_9"}, "classes"),
        ({"name": "dyck_99999999"}, "up to N = 10000"),
        ({}, "give one of"),
        ({"name": "mine", "regex": "0", "path": "x"}, "give one of"),
        ({"regex": "0", "path": "x"}, "give one of"),
        ({"alphabet": "01", "name": "parity_check"}, "goes with regex"),
        ({"regex": "0&1", "alphabet": "01"}, "nothing to learn"),
        ({"regex": ".*", "alphabet": "01"}, "nothing to learn"),
    ],
)
def test_bad_task_is_one_clear_error(arguments, message):
    with pytest.raises(ldru.LdruError, match=message):
        ldru.task(**arguments)


def test_bad_sampling_is_one_clear_error():
    task = TASKS["parity_check"]
    with pytest.raises(ldru.LdruError, match="length=0"):
        task.sample(length=0, generator=generator())
    with pytest.raises(ldru.LdruError, match="split"):
        task.sample(split="validation", generator=generator())
    with pytest.raises(ldru.LdruError, match="batch_size"):
        task.sample(batch_size=0, generator=generator())
    exact = ldru.task(machine=TASKS["prefix_2_4"].machine)
    with pytest.raises(ldru.LdruError, match="16 classes in equal shares"):
        exact.sample(batch_size=8, length=9, generator=generator())
