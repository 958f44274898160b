import inspect
import itertools
import re
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ldru import LdruError, from_regex

expressions = st.recursive(
    st.sampled_from(["0", "1", "01", "[01]", "."]),
    lambda inner: st.one_of(
        inner.map(lambda e: f"({e}){{2}}"),
        inner.map(lambda e: f"({e}){{,2}}"),
        inner.map(lambda e: f"({e}|)"),
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map(lambda pair: f"({pair[0]}|{pair[1]})"),
        inner.map(lambda e: f"({e})*"),
        inner.map(lambda e: f"({e})+"),
        inner.map(lambda e: f"({e})?"),
        inner.map(lambda e: f"({e}){{1,2}}"),
    ),
    max_leaves=6,
)


@settings(max_examples=60, deadline=None)
@given(expressions)
def test_machine_agrees_with_pythons_re(regex):
    machine = from_regex(regex, alphabet="01")
    for n in range(8):
        for word in itertools.product("01", repeat=n):
            text = "".join(word)
            expected = re.fullmatch(regex, text) is not None
            assert machine.run([machine.encode(text)])[0] == expected


def test_machine_is_minimal():
    machine = from_regex("(0|1)*1(0|1)(0|1)")
    assert machine.num_states == 8  # the last three symbols must be remembered
    assert machine.minimal().num_states == 8


def test_alphabet_comes_from_the_symbols_that_match():
    assert from_regex("a{2,3}[0-2]*").alphabet == ("0", "1", "2", "a")
    assert from_regex("0*", alphabet="102").alphabet == ("1", "0", "2")


def test_alphabet_has_every_symbol_that_is_named():
    assert from_regex("[ab]*&[bc]*").alphabet == ("a", "b", "c")
    assert from_regex("~a*b").alphabet == ("a", "b")
    assert from_regex(r"\d{2}").alphabet == tuple("0123456789")
    assert from_regex(r"\*[\]-]").alphabet == ("*", "-", "]")
    assert from_regex("[ä-ö]λ").alphabet == tuple("äåæçèéêëìíîïðñòóôõöλ")


@settings(max_examples=60, deadline=None)
@given(expressions, expressions)
def test_intersection_and_complement(first, second):
    """Against the machines of the parts, on all short words."""
    machines = [from_regex(regex, alphabet="01") for regex in (first, second)]
    both = from_regex(f"({first})&({second})", alphabet="01")
    other = from_regex(f"~({first})", alphabet="01")
    fewer = from_regex(f"({first})&~({second})", alphabet="01")
    for n in range(7):
        words = list(itertools.product((0, 1), repeat=n)) or [()]
        one, two = (machine.run(words) for machine in machines)
        assert (both.run(words) == one & two).all()
        assert (other.run(words) == 1 - one).all()
        assert (fewer.run(words) == one & (1 - two)).all()


@pytest.mark.parametrize(
    ("regex", "words", "others"),
    [
        ("~a*b", ["bb", "abab"], ["", "a", "b", "aab"]),  # the complement of a*, then b
        ("~(a*)b|c", ["bb", "cb", "c"], ["", "ab", "cc"]),
        ("ab|cd&cd", ["ab", "cd"], ["abcd"]),  # & binds more tightly than |
        ("a{2,}", ["aa", "aaa"], ["a", ""]),
        ("a{,2}b", ["b", "ab", "aab"], ["aaab"]),
        ("()|a", ["", "a"], ["aa"]),
        ("a+b", ["ab", "aab"], ["a", "b"]),  # not a union
        (r"\.a\\", [".a\\"], [".a"]),
    ],
)
def test_what_expressions_mean(regex, words, others):
    machine = from_regex(regex)
    assert all(machine.run(word) == 1 for word in words)
    assert all(machine.run(word) == 0 for word in others)


def test_long_expressions_are_read_without_recursion():
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack()) + 100)
    try:
        assert from_regex("ab" * 200).num_states == 402
        assert from_regex(f"({'ab' * 200}){{2}}").num_states == 802
        assert from_regex("a?" * 300).num_states == 302
        assert from_regex("a{500}").num_states == 502
    finally:
        sys.setrecursionlimit(limit)


@pytest.mark.parametrize(
    ("regex", "alphabet", "message"),
    [
        ("", None, "empty"),
        ("(((", None, r"at place 3: '\(' is not closed"),
        ("0)1", None, r"at place 2: '\)' closes nothing"),
        (
            "*",
            None,
            r"the regular expression '\*': at place 1: nothing stands before '\*'",
        ),
        ("(|*)", None, "at place 3: nothing stands before"),
        ("0|~", None, "at place 3: nothing follows '~'"),
        ("[01", None, r"at place 1: '\[' is not closed"),
        ("[]", None, "has no symbol"),
        ("[2-0]", None, "2-0 is no range"),
        ("01x", "01", "at place 3: 'x' is not in the alphabet 01"),
        (".*", None, "need the alphabet"),
        ("[^0]*", None, "need the alphabet"),
        ("()", None, "names no symbol"),
        ("0*", "00", "twice"),
        ("0*", "", "alphabet is empty"),
        ("^01$", None, r"'\^' at place 1: the whole word must match anyway"),
        ("0 1", None, "at place 2: leave the blank out, no symbol is one"),
        (r"0\ 1", None, "at place 2: leave the blank out"),
        ("0\n1", None, "at place 2: leave the blank out"),
        ("a{3,2}", None, r"\{3,2\} is at least 3 and at most 2 times: the smaller number"),
        ("a{x}", None, r"a repetition is \{n\}, \{n,\}"),
        ("a{,}", None, "a repetition is"),
        ("a\u222ab", None, r"at place 2: write \| for a union"),
        ("ε|a", None, r"write \(\) for the empty word"),
        ("a\\", None, "nothing follows the backslash"),
        (r"\n", None, "means nothing here"),
        ("(" * 200 + "a" + ")" * 200, None, "more than 100 brackets"),
        ("((0{100}){100}){100}", None, "takes more than 600,000 steps"),
        ("(0|1)*1(0|1){20}", None, "more than 20,000 states"),
        (7, None, "is text, got int"),
    ],
)
def test_bad_regex_is_one_clear_error(regex, alphabet, message):
    with pytest.raises(LdruError, match=message):
        from_regex(regex, alphabet=alphabet)


@pytest.mark.parametrize("regex", ["(a*){20000}", "((ab)*){5000}", "a*a*b*b*", "((a|b)*){300}c?"])
def test_any_number_twice_is_any_number(regex):
    once = re.sub(r"\{\d+\}", "", regex).replace("a*a*b*b*", "a*b*")
    found = from_regex(regex, alphabet="abc")
    assert found.is_equivalent(from_regex(once, alphabet="abc"))
