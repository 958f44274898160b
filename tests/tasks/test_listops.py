"""ListOps: values against a literal evaluator, draws against the definition of the generator."""

import itertools
import statistics
import tracemalloc

import numpy as np
import pytest
from scipy import stats

from ldru.base.errors import LdruError, RunError
from ldru.tasks.listops import (
    TOKENS,
    Generator,
    Grammar,
    decode,
    draw_distinct,
    encode,
    evaluate,
    listops_task,
    read_tsv,
    values,
    write_tsv,
)
from ldru.tasks.listops import data as data_module
from ldru.tasks.listops.tsv import with_parentheses
from ldru.tasks.word_set import WordSet


def literal_value(text):
    """The value by the recursive definition, of text."""
    value, rest = literal_argument(text.split())
    assert not rest
    return value


def literal_argument(tokens):
    first, rest = tokens[0], tokens[1:]
    if first.isdigit():
        return int(first), rest
    arguments = []
    while rest[0] != "]":
        argument, rest = literal_argument(rest)
        arguments.append(argument)
    functions = {
        "[MAX": max,
        "[MIN": min,
        "[MED": lambda numbers: int(statistics.median(numbers)),
        "[SM": lambda numbers: sum(numbers) % 10,
    }
    return functions[first](arguments), rest[1:]


def test_a_list_may_be_very_long():
    assert evaluate(f"[MAX {'1 ' * 40_000}]") == 1
    assert evaluate(f"[SM {'1 ' * 40_001}]") == 1


@pytest.mark.parametrize(("depth", "arguments", "high"), [(3, 9, 40), (5, 14, 120)])
def test_values_are_those_of_a_literal_evaluator_on_100k_words(depth, arguments, high):
    count = 90_000 if depth == 3 else 10_000
    generator = Generator(Grammar(max_depth=depth, max_arguments=arguments), longest=high)
    words = draw_distinct(generator, low=5, high=high, count=count, random=np.random.PCG64(1))
    found = WordSet.of(words, np.zeros(count))
    labels = values(found.tokens, found.offsets)
    for word, label in zip(words, labels, strict=True):
        assert literal_value(decode(word)) == label


def test_examples():
    assert evaluate("[MAX 2 9 [MIN 4 7 ] 0 ]") == 9
    assert evaluate("[SM 9[MED 4 7 8]0]") == 6
    assert evaluate("[MED 1 2 4 9 ]") == 3
    assert evaluate("( ( ( [MIN 2 ) 9 ) ] )") == 2
    assert evaluate("7") == 7
    assert len(encode("[MAX 2 9 [MIN 4 7 ] 0 ]")) == 9
    assert len(TOKENS) == 15


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[MAX 2 [FOO 4 ] ]", "token 3, '\\[FOO', is none of.*\n  \\[MAX 2 .*\n {9}\\^\\^\\^\\^$"),
        ("[MAX 12 ]", "token 2, '12', is none"),
        ("[MAX 2 [MIN 4 ]", "token 1, '\\[MAX', opens a list that is never closed"),
        ("2 ] 3", "token 2, '\\]', comes after the end"),
        ("] 3", "token 1, '\\]', closes a list that was never opened"),
        ("[MAX 2 ] [MIN 2 ]", "token 4, '\\[MIN', comes after the end"),
        ("[MAX [SM ] ]", "token 3, '\\]', closes a list without arguments"),
        (" ", "empty"),
    ],
)
def test_what_is_no_expression_is_pointed_at(text, message):
    with pytest.raises(LdruError, match=message):
        evaluate(text)


def test_of_a_long_expression_only_the_place_is_shown():
    text = "[MAX " + "1 " * 10_000 + "x " + "2 " * 10_000 + "]"
    with pytest.raises(LdruError) as caught:
        encode(text)
    said, shown, pointer = str(caught.value).splitlines()
    assert said.startswith("token 10002, 'x', is none of")
    assert len(shown) < 150
    assert shown[pointer.index("^")] == "x"
    with pytest.raises(LdruError) as caught:
        encode("y" * 10_000)
    assert len(str(caught.value)) < 400


def shapes(depth, grammar, length):
    """Every argument at a depth with that many tokens as (shape, probability), by definition."""
    is_deepest = depth == grammar.max_depth
    if length == 1:
        yield "d", 1.0 if is_deepest else 0.75
    elif not is_deepest and length >= 4:
        for count in range(2, grammar.max_arguments + 1):
            share = 0.25 / (grammar.max_arguments - 1)
            for inside, chance in rows(depth + 1, grammar, count, length - 2):
                yield f"[{inside}]", share * chance


def rows(depth, grammar, count, length):
    """The same of that many arguments side by side."""
    if count == 0:
        if length == 0:
            yield "", 1.0
        return
    for first in range(1, length - count + 2):
        for (shape, chance), (others, other_chance) in itertools.product(
            shapes(depth, grammar, first), rows(depth, grammar, count - 1, length - first)
        ):
            yield shape + others, chance * other_chance


@pytest.mark.parametrize(("depth", "arguments"), [(3, 3), (4, 4)])
@pytest.mark.parametrize("length", [4, 9, 13])
def test_words_of_a_length_have_the_shapes_of_the_original_generator(depth, arguments, length):
    grammar = Grammar(max_depth=depth, max_arguments=arguments)
    expected = dict(shapes(1, grammar, length))
    generator = Generator(grammar, longest=20)
    total = sum(expected.values())
    assert generator.size_shares[length] == pytest.approx(total, rel=1e-12)

    tokens, _ = generator.draw(np.full(20_000, length), np.random.PCG64(3))
    drawn = tokens.reshape(-1, length)
    letters = np.array(["d"] * 10 + ["["] * 4 + ["]"])[drawn]
    names, counts = np.unique(["".join(row) for row in letters], return_counts=True)
    assert set(names) <= set(expected)
    observed = dict(zip(names, counts, strict=True))
    if len(expected) > 1:
        seen = np.array([observed.get(name, 0) for name in expected])
        wanted = np.array(list(expected.values())) / total * len(drawn)
        common = wanted >= 5
        if not common.all():
            seen = np.append(seen[common], seen[~common].sum())
            wanted = np.append(wanted[common], wanted[~common].sum())
        assert stats.chisquare(seen, wanted).pvalue > 1e-3
    for first, last in ((0, 10), (10, 14)):
        kinds = np.bincount(drawn[(drawn >= first) & (drawn < last)], minlength=last)[first:]
        assert stats.chisquare(kinds).pvalue > 1e-3


def test_lengths_are_as_likely_as_in_the_original_generator():
    random = np.random.default_rng(0)

    def size(depth):
        if depth == 3 or random.random() > 0.25:
            return 1
        return 2 + sum(size(depth + 1) for _ in range(random.integers(2, 10)))

    waited = [n for n in (size(1) for _ in range(60_000)) if 5 <= n <= 40]
    generator = Generator(Grammar(max_depth=3, max_arguments=9), longest=40)
    choices = generator.lengths(5, 40)
    drawn = choices.draw(np.zeros(len(waited), dtype=np.int64), np.random.PCG64(0))
    table = np.stack([np.bincount(n, minlength=41)[5:] for n in (waited, drawn)])
    assert stats.chi2_contingency(table).pvalue > 1e-3


def test_sets_are_distinct_nested_kept_and_checked(tmp_path, monkeypatch):
    monkeypatch.setenv("LDRU_DATA", str(tmp_path))
    monkeypatch.setattr(data_module, "TEST_WORDS", 50)
    small, large = listops_task("listops_2k"), listops_task("listops_5000")
    assert (small.name, large.name) == ("listops_2k", "listops_5k")
    assert listops_task("listops").name == "listops_1m"
    assert listops_task("parity_check") is None
    assert len(small.tests) == 22

    def words(task, name):
        found = task.words(name)
        return [found[i].tobytes() for i in range(len(found))]

    train = words(large, "train")
    assert len(set(train)) == 5000
    assert words(small, "train") == train[:2000]
    assert len(set(words(small, "validation"))) == 2048
    assert not set(words(small, "validation")) & set(train)
    for name in small.tests:
        limits, bounds = name.split()
        depth, arguments = map(int, limits.split(","))
        low, high = map(int, bounds.split("-"))
        found = small.words(name)
        assert len(set(words(small, name))) == 50
        assert low <= found.lengths.min() <= found.lengths.max() <= high
        for index in range(len(found)):
            text = decode(found[index])
            assert literal_value(text) == found.labels[index]
            assert list(encode(text)) == list(found[index])
            assert nesting(text) < depth
            assert widest(text) <= arguments

    (folder,) = [
        path.parent
        for path in tmp_path.glob("listops/*/about.json")
        if '"count": 2000' in path.read_text()
    ]
    tokens = np.load(folder / "tokens.npy")
    tokens[7] = (tokens[7] + 1) % 10
    np.save(folder / "tokens.npy", tokens)
    with pytest.raises(RunError, match="checksum"):
        listops_task("listops_2k").words("train")


def nesting(text):
    """How many lists are open at once, at most."""
    steps = [token.startswith("[") - (token == "]") for token in text.split()]
    return max(itertools.accumulate(steps))


def widest(text):
    """The largest number of arguments."""
    open_lists, largest = [], 0
    for token in text.split():
        if token.startswith("["):
            open_lists.append(0)
            continue
        if token == "]":
            largest = max(largest, open_lists.pop())
        if open_lists:
            open_lists[-1] += 1
    return largest


def test_too_few_words_are_an_error():
    generator = Generator(Grammar(max_depth=3, max_arguments=9), longest=5)
    drawn = draw_distinct(generator, low=5, high=5, count=4000, random=np.random.PCG64(0))
    assert len(set(drawn)) == 4000
    with pytest.raises(LdruError, match="4001 were asked for, 4000 were found"):
        draw_distinct(generator, low=5, high=5, count=4001, random=np.random.PCG64(0))
    with pytest.raises(LdruError, match="no lists of 2 to 3"):
        generator.lengths(2, 3)


def test_lengths_that_no_list_has_are_an_error():
    generator = Generator(Grammar(max_depth=2, max_arguments=3), longest=20)
    for length in (3, 6, 15, 21):
        with pytest.raises(LdruError, match=f"no list of {length} tokens"):
            generator.draw(np.array([4, length]), np.random.PCG64(0))
    with pytest.raises(LdruError, match="draws up to 20 tokens, got 40"):
        generator.lengths(5, 40)
    with pytest.raises(LdruError, match="at least 4 tokens, got longest=0"):
        Generator(Grammar(max_depth=3, max_arguments=9), longest=0)


def test_original_files_come_and_go(tmp_path):
    texts = ["[MAX 2 9 ]", "[SM [MIN 4 7 5 ] 8 ]", "7"]
    found = WordSet.of([encode(text) for text in texts], [9, 2, 7])
    assert with_parentheses(found[0]) == "( ( ( [MAX 2 ) 9 ) ] )"
    path = tmp_path / "some.tsv"
    write_tsv(found, path)
    lines = path.read_text().splitlines()
    assert lines[1] == "2\t( ( ( [SM ( ( ( ( [MIN 4 ) 7 ) 5 ) ] ) ) 8 ) ] )"
    back = read_tsv(path)
    assert back.checksum == found.checksum
    with pytest.raises(LdruError, match="not overwritten"):
        write_tsv(found, path)
    path.write_text("9\t[MAX 2 9 ]\n3\t[MAX 2 9 ]\n")
    with pytest.raises(LdruError, match="line 2: the expression has the value 9, not 3"):
        read_tsv(path)
    path.write_text("9\t[MAX 2 9 ]\n9\t[MAX 2 9\n")
    with pytest.raises(LdruError, match=r"line 2: token 1, .* never closed"):
        read_tsv(path)
    path.write_bytes(b"\xef\xbb\xbf9\t[MAX 2 9 ]\r\n8\t[MAX 2\x0c8 ]\n")
    assert read_tsv(path).labels.tolist() == [9, 8]
    path.write_text("")
    with pytest.raises(LdruError, match=r"some\.tsv has no lines"):
        read_tsv(path)
    path.write_text("9 [MAX 2 9 ]\n")
    with pytest.raises(LdruError, match="line 1: expected a digit, a tab"):
        read_tsv(path)


def test_a_folder_that_cannot_be_written_is_said(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("LDRU_DATA", str(tmp_path / "file"))
    with pytest.raises(RunError, match="choose a folder you may write to"):
        listops_task("listops_5").words("train")


def test_values_take_as_much_memory_as_the_tokens():
    """Short words beside a few that are long or deep: padded to the longest they were 400 MB."""
    short = ["[MAX 2 9 [MIN 4 7 ] 0 ]", "[SM 5 6 7 ]", "3", "[MED 1 2 8 9 ]"] * 1000
    long = ["[SM " + "7 " * 50_000 + "]", "[MAX " * 4000 + "3 " + "] " * 4000]
    given = [encode(text).astype(np.uint8) for text in (*long, *short, *long)]
    offsets = np.concatenate([[0], np.cumsum([len(word) for word in given])])
    tracemalloc.start()
    found = values(np.concatenate(given), offsets)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found.tolist() == [*([0, 3] + [9, 8, 3, 5] * 1000), 0, 3]
    assert most < 50e6
