"""Work that would not end, or not fit, is refused before it begins."""

import resource
import time
from pathlib import Path

import pytest

import ldru
from ldru.base.limits import LIMITS

REGEXES = (
    "(a?){20000}",
    "(){999999999}",
    "a{99999999999999999999}",
    "(a|b)*a(a|b){40}",
    "(a?b?c?){2000}",
    "(a*b?){9000}",
    "[!-\uffff]",
)


def chain(states, *, labels=2):
    return ldru.MooreMachine(
        alphabet="ab",
        delta=[[(i + 1) % states, i] for i in range(states)],
        output=[i % labels for i in range(states)],
    )


CALLS = {
    "more labels than are drawn": lambda: ldru.task(machine=chain(5000, labels=5000)),
    "states": lambda: chain(30_000),
    "symbols": lambda: ldru.MooreMachine(
        alphabet=(f"s{i}" for i in range(10**12)), delta=[], output=[]
    ),
    "a monoid of many maps": lambda: ldru.monoid(ldru.from_regex("(a|b)*a(a|b){12}"), limit=10**9),
    "products": lambda: ldru.monoid("counter_7000").table,
    "a length": lambda: ldru.task("parity_check").word_length(2**31),
    "counts of words": lambda: ldru.task(regex="(ab)*").draw_test(300_000, words=2, seed=0),
    "words": lambda: ldru.Run.open("parity_check").evaluate([40], words=10**20),
    "max_length": lambda: ldru.train("parity_check", max_length=2**31, steps=1),
    "validation_length": lambda: ldru.train("parity_check", validation_length=10**8, steps=1),
    "batch_size": lambda: ldru.train("parity_check", batch_size=10**9, steps=1),
    "seeds": lambda: ldru.train("parity_check", seeds=10**9, steps=1, dim=2),
    "dim": lambda: ldru.train("parity_check", dim=10**6, steps=1),
    "parameters": lambda: ldru.train("parity_check", dim=10_000, steps=1),
    "hard words": lambda: ldru.train("parity_check", max_length=10_000, hard_words=0.1, steps=1),
}


def bounded(call):
    """Call what must be refused, within generous bounds of time and memory."""
    begin, before = time.monotonic(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(ldru.LdruError) as refused:
        call()
    assert time.monotonic() - begin < 60
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 1_000_000  # kB
    return str(refused.value)


@pytest.mark.parametrize("regex", REGEXES, ids=lambda regex: regex[:20])
def test_expressions_are_worked_out_or_refused(regex):
    assert len(bounded(lambda: ldru.from_regex(regex))) < 500


def test_stars_of_stars_are_one():
    assert ldru.from_regex("a" + "+?*" * 3000).is_equivalent(ldru.from_regex("a*"))
    assert ldru.from_regex("(a*){2,20000}", alphabet="ab").num_states == 2
    assert ldru.from_regex("(a*){0}b").is_equivalent(ldru.from_regex("b", alphabet="ab"))


@pytest.mark.parametrize("name", CALLS)
def test_sizes_are_refused_with_the_limit_that_can_be_raised(name):
    message = bounded(CALLS[name])
    assert any(f"LDRU_LIMITS={limit}=" in message for limit in LIMITS), message


def test_every_limit_is_documented():
    page = (Path(__file__).parents[2] / "docs" / "reliability.md").read_text()
    for name, value in LIMITS.items():
        assert f"| `{name}` | {value:,} |" in page


@pytest.mark.parametrize("name", ["dyck_N", "counter_N", "group_ZN", "prefix_N_2", "listops_N"])
def test_numbers_in_names_are_bounded(name):
    for digits in (18, 5000):
        bounded(lambda: ldru.task(name.replace("N", digits * "9")).word_length(3))  # noqa: B023


def test_many_complements_are_one_or_none():
    assert ldru.from_regex("~" * 5000 + "a").is_equivalent(ldru.from_regex("a"))
    assert ldru.from_regex("~" * 5001 + "a").is_equivalent(ldru.from_regex("~a"))


def test_lengths_that_repeat_are_known_at_once():
    task = ldru.task("modular_arithmetic")
    for length in (1, 2, 39, 40, 999_999, 1_000_000):
        assert task.word_length(length) == length - (length % 2 == 0)
