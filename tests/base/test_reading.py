"""Files of others: what is read, and what is one clear error."""

import json
import os
import random

import pytest

import ldru
from ldru.base.errors import RunError
from ldru.base.reading import (
    DEEPEST,
    MOST_DIGITS,
    is_folder,
    parse_json,
    read_bytes,
    read_json,
    read_text,
)


def test_json_within_the_bounds_is_what_the_library_reads():
    draw = random.Random(0)

    def value(depth):
        kind = draw.randrange(7 if depth < 6 else 5)
        if kind < 5:
            text = "".join(draw.choices('ab"\\[]{}\n\u00e9\U0001f600 0', k=5))
            return [None, True, draw.randrange(10**18), draw.random(), text][kind]
        inner = [value(depth + 1) for _ in range(draw.randrange(4))]
        return inner if kind == 5 else {f"{i}[{{": v for i, v in enumerate(inner)}

    for _ in range(300):
        given = value(0)
        for text in (json.dumps(given), json.dumps(given, ensure_ascii=False, indent=1)):
            assert parse_json(text) == given
            assert parse_json(text.encode()) == given


@pytest.mark.parametrize("opening", ["[", '{"a":', '[{"a":'])
def test_depth_is_bounded_and_strings_do_not_count(opening):
    closing = opening.replace("[", "]").replace('{"a":', "}")[::-1]
    marks = 2 if len(opening) > 5 else 1
    for times in (DEEPEST // marks, DEEPEST // marks + 1, 100_000):
        text = opening * times + "0" + closing * times
        if times * marks <= DEEPEST:
            assert parse_json(text) is not None
        else:
            with pytest.raises(ValueError, match=f"more than {DEEPEST} lists"):
                parse_json(text)
    assert parse_json(json.dumps([opening * 1000])) == [opening * 1000]


def test_numbers_have_few_digits_and_keys_stand_once():
    assert parse_json("9" * MOST_DIGITS) == int("9" * MOST_DIGITS)
    assert parse_json(json.dumps("9" * 10_000)) == "9" * 10_000
    for text in ("9" * (MOST_DIGITS + 1), "0." + "1" * 1_000_000, "-" + "9" * 5_000):
        with pytest.raises(ValueError, match="digits, more than"):
            parse_json(text)
    with pytest.raises(ValueError, match="'a' stands twice"):
        parse_json('[{"a": 1, "b": 2, "a": 1}]')


def test_what_cannot_be_read_is_one_error_that_names_the_file(tmp_path, monkeypatch):
    path = tmp_path / "file.json"
    path.write_bytes(b'{"a": "\xff"}')
    for read in (read_text, read_json):
        with pytest.raises(RunError, match=r"file\.json.*utf-8"):
            read(path)
    path.write_text("{")
    with pytest.raises(RunError, match=r"cannot read .*file\.json"):
        read_json(path)
    with pytest.raises(RunError, match="No such file"):
        read_bytes(tmp_path / "none")
    with pytest.raises(RunError, match="is a folder"):
        read_bytes(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(RunError, match="no regular file"):  # it would wait for ever
        read_bytes(tmp_path / "pipe")
    for name in ("a" * 5000, "a\0b"):
        with pytest.raises(RunError, match="cannot read"):
            read_bytes(tmp_path / name)
    with pytest.raises(RunError, match="too long"):
        is_folder(tmp_path / ("a" * 5000))
    monkeypatch.setenv("LDRU_LIMITS", "text_bytes=3")
    path.write_text("1234")
    with pytest.raises(RunError, match=r"4 is beyond .*LDRU_LIMITS=text_bytes=4"):
        read_bytes(path)
    monkeypatch.setenv("LDRU_LIMITS", "text_bytes=4")
    assert read_json(path) == 1234


def test_limits_are_raised_in_one_place(monkeypatch):
    monkeypatch.setenv("LDRU_LIMITS", "states=2, length=5e3")
    with pytest.raises(ldru.LdruError, match="LDRU_LIMITS=states="):
        ldru.from_regex("abcabc")
    for bad, message in (("sates=3", "did you mean 'states'"), ("states", "is such as")):
        monkeypatch.setenv("LDRU_LIMITS", bad)
        with pytest.raises(ldru.LdruError, match=message):
            ldru.from_regex("ab")
    monkeypatch.setenv("LDRU_LIMITS", "states=-1")
    with pytest.raises(ldru.LdruError, match="is such as"):
        ldru.from_regex("ab")
