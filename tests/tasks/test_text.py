"""Texts as tokens: against WordPiece written out, and what is said of files that are wrong."""

import hashlib
import json
import shutil
import sys
import types
import unicodedata

import numpy as np
import pytest

import ldru
from ldru.base.errors import LdruError, MissingExtraError
from ldru.paper.reported import values
from ldru.paper.settings import per_task
from ldru.tasks.spec import TaskSpec
from ldru.tasks.text import TEXT_SETS, WordPiece, prepare
from ldru.tasks.text.sources import read_texts
from ldru.tasks.text.store import find_set, kept_vocabulary
from ldru.tasks.text.wordpiece import MARKS, read_vocabulary
from ldru.tasks.word_set import WordSet

CLS, SEP = MARKS["[CLS]"], MARKS["[SEP]"]
TEXTS = (
    "a gripping film",
    "UNFRIENDLY cafés, don't!",
    "  the\tnew\u00a0film (1999) is n't very  good... ",
    "grips griper xyz \u4e2d film " + "a" * 101,
    "it's\u2028 not \u0000\u200bold",
)


def is_punctuation(letter):
    code = ord(letter)
    is_ascii = 33 <= code <= 47 or 58 <= code <= 64 or 91 <= code <= 96 or 123 <= code <= 126
    return is_ascii or unicodedata.category(letter).startswith("P")


def literal_wordpiece(text, words):
    """BERT's tokeniser as it was published: clean, split, then the longest known beginnings."""
    cleaned = ""
    for letter in text:
        if letter in "\t\n\r" or unicodedata.category(letter) == "Zs":
            cleaned += " "
        elif ord(letter) in (0, 0xFFFD) or unicodedata.category(letter).startswith("C"):
            continue
        elif 0x4E00 <= ord(letter) <= 0x9FFF or is_punctuation(letter):
            cleaned += f" {letter} "
        else:
            cleaned += letter
    found = unicodedata.normalize("NFD", cleaned.lower())
    tokens = []
    for word in "".join(c for c in found if unicodedata.category(c) != "Mn").split():
        pieces, begin = [], 0
        while begin < len(word) and len(word) <= 100:
            ends = range(len(word), begin, -1)
            piece = next(
                (p for p in (("##" * (begin > 0)) + word[begin:e] for e in ends) if p in words),
                None,
            )
            if piece is None:
                break
            pieces.append(words[piece])
            begin += len(piece) - 2 * (begin > 0)
        tokens += pieces if begin == len(word) else [MARKS["[UNK]"]]
    return tokens


@pytest.fixture
def wordpiece(small_texts):
    return WordPiece(small_texts / "bert_vocab" / "vocab.txt")


def split(found):
    return [part.tolist() for part in np.split(found.tokens, found.lengths.cumsum()[:-1])]


def test_tokens_are_those_of_wordpiece_written_out(wordpiece):
    words = read_vocabulary(wordpiece.path)
    want = [literal_wordpiece(text, words) for text in TEXTS]
    assert len(set(map(tuple, want))) == len(TEXTS)
    alone = wordpiece.tokenise(TEXTS, None, max_tokens=1000)
    assert split(alone) == [[CLS, *tokens, SEP] for tokens in want]
    pairs = wordpiece.tokenise(TEXTS, TEXTS[::-1], max_tokens=1000)
    assert split(pairs) == [
        [CLS, *one, SEP, *other, SEP] for one, other in zip(want, want[::-1], strict=True)
    ]
    assert alone.cut == pairs.cut == 0
    assert alone.tokens.dtype == np.uint16


def test_long_texts_are_cut_and_counted(wordpiece):
    found = wordpiece.tokenise(["film " * 8, "film " * 9, "film " * 20], None, max_tokens=10)
    assert found.lengths.tolist() == [10, 10, 10]
    assert found.cut == 2
    assert all(tokens[0] == CLS and tokens[-1] == SEP for tokens in split(found))


@pytest.mark.parametrize("lengths", [(1, 30), (30, 1), (30, 30), (7, 8), (31, 30)])
def test_of_a_pair_the_longer_text_is_cut(wordpiece, lengths):
    one, other = ("good " * lengths[0], "bad " * lengths[1])
    found = wordpiece.tokenise([one], [other], max_tokens=16)
    (tokens,) = split(found)
    end = tokens.index(SEP)
    kept = (end - 1, len(tokens) - end - 2)
    left = list(lengths)
    while sum(left) > 13:  # three marks
        left[int(left[1] >= left[0])] -= 1
    assert sum(kept) == sum(left)
    assert sorted(kept) == sorted(left)
    assert found.cut == (sum(lengths) > 13)


def test_settings_are_the_papers():
    for name, row in values("nlp_settings").items():
        text_set, paper = find_set(name), per_task(TaskSpec(name=name))
        assert (text_set.max_tokens, paper.batch_size) == (row["truncation"], row["batch_size"])
        assert (paper.learning_rate, paper.steps) == (row["learning_rate"], row["steps"])
        assert paper.dropout == 0.01
    assert set(values("nlp_settings")) == {n for n, s in TEXT_SETS.items() if not s.subset_of}
    assert all(name == f"{s.subset_of}_subset" for name, s in TEXT_SETS.items() if s.subset_of)


def test_official_files_are_read(small_texts):
    texts = read_texts(find_set("sst2"), "train", small_texts)
    assert texts.first[:2] == ["dull", "good play"]
    assert texts.labels[:2] == [0, 1]
    assert len(texts.first) == 40
    pairs = read_texts(find_set("mrpc"), "dev", small_texts)
    assert pairs.first[1] == 'the "old good play'  # a quotation mark means nothing in a TSV
    assert pairs.second[1] == "a bad old play."
    news = read_texts(find_set("ag_news"), "train", small_texts)
    assert news.first[0] == 'New "play" it is, not, very good'
    assert news.labels == [2, 0]
    grammar = read_texts(find_set("cola"), "dev", small_texts)
    assert (grammar.first[1], grammar.labels) == ("the is film", [1, 0])


def test_texts_are_tokenised_once_and_kept(small_texts, monkeypatch):
    (train, dev) = prepare("cola", data=small_texts)
    assert (train.texts, train.cut, dev.texts) == (9, 0, 2)
    task = ldru.task("cola")
    words = task.words("train")
    vocabulary = read_vocabulary(small_texts / "bert_vocab" / "vocab.txt")
    pair = [vocabulary["the"], vocabulary["film"]]
    assert [row.tolist() for row in map(words.__getitem__, range(9))] == [
        [CLS, *pair * (n + 1), SEP] for n in range(9)
    ]
    assert words.labels.tolist() == [n % 2 for n in range(9)]
    assert words.tokens.itemsize == 2
    assert task.words("validation").labels.tolist() == [1, 0]
    assert task.encode("The film").tolist() == [CLS, *pair, SEP]
    monkeypatch.setattr(WordPiece, "tokenise", None)
    assert prepare("cola", data=small_texts) == [train, dev]


def test_a_store_of_other_texts_is_not_taken_for_these(small_texts):
    prepare("cola", data=small_texts)
    path = small_texts / "CoLA" / "train.tsv"
    path.write_text(path.read_text() + "gj04\t1\t\tone more\n")
    with pytest.raises(LdruError, match="another sources"):
        prepare("cola", data=small_texts)
    vocabulary = small_texts / "bert_vocab" / "vocab.txt"
    vocabulary.write_text(vocabulary.read_text().replace("gripping", "gripped"))
    with pytest.raises(LdruError, match="another vocabulary"):
        prepare("sst2", data=small_texts)
    shutil.copyfile(vocabulary, kept_vocabulary())
    with pytest.raises(LdruError, match="were made with another vocabulary"):
        ldru.task("cola").words("train")


def test_without_data_the_error_says_what_is_expected(small_texts, tmp_path):
    with pytest.raises(LdruError, match=r"ldru prepare sst2.*sst2/train.parquet or SST-2/train"):
        ldru.task("sst2").words("train")
    vocabulary = small_texts / "bert_vocab" / "vocab.txt"
    with pytest.raises(LdruError, match=r"is no folder.*QNLI/train.tsv.*gluebenchmark.*nyu-mll"):
        prepare("qnli", data=tmp_path / "nowhere", vocabulary=vocabulary)
    with pytest.raises(LdruError, match=r"lacks qnli/train.parquet or QNLI/train.tsv"):
        prepare("qnli", data=small_texts)
    (small_texts / "qnli").mkdir()
    (small_texts / "qnli" / "train_subset.parquet").touch()
    with pytest.raises(LdruError, match="files of qnli_subset"):
        prepare("qnli", data=small_texts)
    vocabulary.unlink()
    with pytest.raises(LdruError, match=r"cannot read .*vocab.txt of bert"):
        prepare("sst2", data=small_texts)
    with pytest.raises(LdruError, match="unknown data set"):
        prepare("sst3", data=small_texts)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("good\t1\tx\n", r"train.tsv, line 3: expected 2 columns, got 3"),
        ("good\t2\n", r"line 3: unknown label '2' \(known: 0, 1\)"),
        (" \t1\n", r"line 3: a text is empty"),
        ("caf\udce9\t1\n", r"line 3: is not valid UTF-8"),
    ],
)
def test_a_wrong_row_is_named(small_texts, text, message):
    content = ("sentence\tlabel\nfine\t0\n" + text).encode(errors="surrogateescape")
    (small_texts / "SST-2" / "train.tsv").write_bytes(content)
    with pytest.raises(LdruError, match=f"{message}; mend that row, or leave such rows out"):
        prepare("sst2", data=small_texts)
    assert not (small_texts.parent / "data" / "text" / "sst2" / "train").exists()
    train, dev = prepare("sst2", data=small_texts, skip_broken=True)
    assert (train.texts, train.broken, dev.broken) == (1, 1, 0)
    again, _ = prepare("sst2", data=small_texts)
    assert again == train


def test_a_wrong_header_or_csv_is_named(small_texts):
    (small_texts / "SST-2" / "train.tsv").write_text("fine\t0\n")
    with pytest.raises(LdruError, match="expected a header with label, sentence"):
        prepare("sst2", data=small_texts)
    (small_texts / "ag_news_csv" / "train.csv").write_text('"1","a","b"\n"1","a"\n')
    with pytest.raises(LdruError, match=r"train.csv, line 2: expected 3 columns, got 2"):
        prepare("ag_news", data=small_texts)


def test_a_vocabulary_of_another_size_or_order_is_an_error(small_texts):
    path = small_texts / "bert_vocab" / "vocab.txt"
    lines = path.read_text().splitlines()
    path.write_text("\n".join(lines[:-1]) + "\n")
    with pytest.raises(LdruError, match=r"30,521 lines.*30,522 of both"):
        prepare("sst2", data=small_texts)
    path.write_text("\n".join([*lines, lines[-1]]) + "\n")
    with pytest.raises(LdruError, match=r"30,523 lines and 30,522 different words"):
        prepare("sst2", data=small_texts)
    path.write_text("\n".join(lines) + "\n")
    checksum = WordPiece(path).checksum
    assert checksum == hashlib.sha256(path.read_bytes()).hexdigest()  # as in older records
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert WordPiece(path).checksum == checksum
    lines[0], lines[1] = lines[1], lines[0]
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(LdruError, match=r"\[PAD\] should be number 0, is 1"):
        prepare("sst2", data=small_texts)


def test_words_to_ask_about(small_texts):
    prepare("mrpc", data=small_texts)
    task = ldru.task("mrpc")
    assert task.labels == ("different", "paraphrase")
    assert len(task.encode("a film\tthe play")) == 7
    for wrong, message in (("a film", "two texts with a tab"), ("a\t ", "is empty")):
        with pytest.raises(LdruError, match=message):
            task.encode(wrong)


def write_parquet(path, rows):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    path.parent.mkdir(exist_ok=True)
    names = ("text_a", "text_b", "label")
    parquet.write_table(pyarrow.table(dict(zip(names, zip(*rows)))), path)


def test_parquet_files_are_read_and_full_stops_go_where_training_has_none(small_texts):
    write_parquet(small_texts / "mnli" / "train_subset.parquet", [("the film", "a. play.", 2)])
    write_parquet(small_texts / "mnli" / "dev_matched.parquet", [("It is. Good.", "bad", 0)])
    subset = find_set("mnli_subset")
    texts = read_texts(subset, "dev_matched", small_texts)
    assert (texts.first, texts.second, texts.labels) == (["It is Good"], ["bad"], [0])
    prepare("mnli_subset", data=small_texts)
    words = ldru.task("mnli_subset").words("dev_matched")
    assert words.about["subset_of"] == "mnli"
    asked = ldru.task("mnli_subset").encode("It is. Good.\tbad.")
    assert asked.tolist() == words.tokens[: words.offsets[1]].tolist()
    write_parquet(small_texts / "mnli" / "train_subset.parquet", [("film", "..", 1)])
    with pytest.raises(LdruError, match=r"train_subset.parquet, row 1: a text is empty"):
        read_texts(subset, "train", small_texts)
    write_parquet(small_texts / "mnli" / "train_subset.parquet", [("film", "play", 3)])
    with pytest.raises(LdruError, match=r"row 1: unknown label 3 \(known: 0 entailment"):
        read_texts(subset, "train", small_texts)
    (small_texts / "mnli" / "train_subset.parquet").write_text("no table")
    with pytest.raises(LdruError, match="cannot read"):
        read_texts(subset, "train", small_texts)


def test_the_hub_is_asked_only_by_name(small_texts, monkeypatch):
    rows = [{"sentence": "a film", "label": 1}]
    asked = []

    def load_dataset(name, configuration, *, split):
        asked.append((name, configuration, split))
        return rows

    monkeypatch.setitem(sys.modules, "datasets", types.SimpleNamespace(load_dataset=load_dataset))
    texts = read_texts(find_set("sst2"), "dev", "hub")
    assert (texts.first, texts.labels) == (["a film"], [1])
    assert asked == [("nyu-mll/glue", "sst2", "validation")]
    with pytest.raises(LdruError, match="not on the hub"):
        read_texts(find_set("qnli_subset"), "dev", "hub")

    def no_network(name, configuration, *, split):
        raise ConnectionError("couldn't reach the hub")

    monkeypatch.setattr(sys.modules["datasets"], "load_dataset", no_network)
    with pytest.raises(LdruError, match="cannot read nyu-mll/glue from the hub: couldn't reach"):
        read_texts(find_set("sst2"), "dev", "hub")
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(MissingExtraError, match=r"ldru\[text\]"):
        read_texts(find_set("sst2"), "dev", "hub")


def test_a_package_that_is_missing_is_named(small_texts, monkeypatch):
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(MissingExtraError, match=r"'tokenizers'.*ldru\[text\]"):
        prepare("sst2", data=small_texts)


def test_validation_words_come_from_all_over_a_set(small_texts, monkeypatch):
    prepare("sst2", data=small_texts)
    monkeypatch.setattr("ldru.tasks.text.task.VALIDATION_TEXTS", 5)
    whole, some = ldru.task("sst2").words("dev"), ldru.task("sst2").words("validation")
    assert len(some) == 5
    places = [n * 12 // 5 for n in range(5)]
    assert [some[n].tolist() for n in range(5)] == [whole[n].tolist() for n in places]
    assert some.labels.tolist() == whole.labels[places].tolist()


def test_a_changed_store_is_an_error(small_texts, tmp_path):
    prepare("cola", data=small_texts)
    folder = tmp_path / "data" / "text" / "cola" / "dev"
    about = json.loads((folder / "about.json").read_text())
    (folder / "about.json").write_text(json.dumps({**about, "max_tokens": 32}))
    with pytest.raises(LdruError, match="max_tokens 32, needed is 64"):
        ldru.task("cola").words("dev")
    np.save(folder / "labels.npy", np.zeros(2, dtype=np.uint8))
    with pytest.raises(LdruError, match="checksum"):
        WordSet.open(folder)


def test_the_real_tokeniser_says_the_same(real_texts):
    """The published tokenizer.json on the first dev texts of every kind."""
    tokenizers = pytest.importorskip("tokenizers")
    published = tokenizers.Tokenizer.from_file(str(real_texts / "bert_vocab" / "tokenizer.json"))
    published.no_truncation()
    published.no_padding()
    ours = WordPiece(real_texts / "bert_vocab" / "vocab.txt")
    for name, part in (("cola", "dev"), ("mrpc", "dev"), ("qnli_subset", "dev")):
        texts = read_texts(find_set(name), part, real_texts)
        first, second = texts.first[:300], texts.second and texts.second[:300]
        inputs = first if second is None else list(zip(first, second, strict=True))
        want = [encoding.ids for encoding in published.encode_batch(inputs)]
        assert split(ours.tokenise(first, second, max_tokens=10_000)) == want


def test_the_real_folder_has_what_its_manifest_says(real_texts):
    manifest = json.loads((real_texts / "manifest.json").read_text())
    known = {entry["path"]: entry for entry in manifest}
    for name in ("cola", "mrpc", "qnli_subset", "mnli_subset"):
        for part, files in find_set(name).parquet.items():
            texts = read_texts(find_set(name), part, real_texts)
            assert texts.sources == {file: known[file]["sha256"] for file in files}
            counts = {str(k): n for k, n in enumerate(np.bincount(texts.labels).tolist())}
            assert counts == known[files[0]]["labels"]


def test_what_is_no_text_cannot_be_asked(small_texts):
    prepare("cola", data=small_texts)
    with pytest.raises(LdruError, match="not valid UTF-8"):
        ldru.task("cola").encode("bad \udcff word")
