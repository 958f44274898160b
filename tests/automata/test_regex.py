import itertools
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ldru import LdruError, from_regex

expressions = st.recursive(
    st.sampled_from(["0", "1", "01", "[01]", "."]),
    lambda inner: st.one_of(
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


@pytest.mark.parametrize(
    ("regex", "alphabet", "message"),
    [
        ("", None, "empty"),
        ("(((", None, "cannot read"),
        ("*", None, "cannot read"),
        ("01x", "01", "cannot read"),
        (".*", None, "need the alphabet"),
        ("[^0]*", None, "need the alphabet"),
        ("()", None, "names no symbol"),
        ("0*", "00", "twice"),
        ("0*", "", "alphabet is empty"),
        ("^01$", None, "anchor"),
        ("((0{100}){100}){100}", None, "multiply to 1000000"),
        ("(0|1)*1(0|1){20}", None, "more than 20000 states"),
    ],
)
def test_bad_regex_is_one_clear_error(regex, alphabet, message):
    with pytest.raises(LdruError, match=message):
        from_regex(regex, alphabet=alphabet)
