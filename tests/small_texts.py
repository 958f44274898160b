"""A vocabulary and a few texts, as the official files have them."""

import itertools
import string

from ldru.tasks.text.wordpiece import MARKS, VOCAB_SIZE

WORDS = (
    *("a", "gripping", "film", "dull", "play", "grip", "##ping", "##s", "un", "##friend", "##ly"),
    *("the", "new", "old", "good", "bad", "cafe", "don", "t", "it", "is", "not", "very", "##er"),
)
GOOD, BAD = ("a gripping film", "good play", "the film is good"), ("dull", "a bad old play.")


def vocabulary():
    """As many words as BERT's has: marks in their places, letters, some words, and filling."""
    letters = string.ascii_lowercase + string.digits
    known = [*WORDS, *letters, *(f"##{letter}" for letter in letters), *string.punctuation]
    names = iter(dict.fromkeys(known))
    marks = {number: mark for mark, number in MARKS.items()}
    filling = (f"[unused{number}]" for number in itertools.count())
    return [
        marks.get(place) or (next(filling) if place < 1000 else next(names, None) or next(filling))
        for place in range(VOCAB_SIZE)
    ]


def write_texts(folder):
    """Official files of SST-2, CoLA, MRPC, MNLI and AG's News; the folder."""
    files = {
        "bert_vocab/vocab.txt": "\n".join(vocabulary()) + "\n",
        "SST-2/train.tsv": _sst2(40),
        "SST-2/dev.tsv": _sst2(12),
        "CoLA/train.tsv": "".join(f"gj04\t{n % 2}\t*\t{'the film ' * (n + 1)}\n" for n in range(9)),
        "CoLA/dev.tsv": "gj04\t1\t\tthe play is old .\ngj04\t0\t*\tthe is film\n",
        "MRPC/train.tsv": _mrpc(20),
        "MRPC/dev.tsv": _mrpc(10),
        "ag_news_csv/train.csv": '"3","New ""play""","it is, not, very good"\n"1","old","film"\n',
        "ag_news_csv/test.csv": '"4","a","b"\n',
    }
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def _sst2(count):
    rows = ((GOOD[n % 3], 1) if n % 2 else (BAD[n // 2 % 2], 0) for n in range(count))
    return "sentence\tlabel\n" + "".join(f"{text} \t{label}\n" for text, label in rows)


def _mrpc(count):
    header = "\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String\n"
    rows = (
        f'{n % 3 > 0:d}\t{n}\t{n}\tthe "old {GOOD[n % 3]}\t{BAD[n % 2]}\n' for n in range(count)
    )
    return header + "".join(rows)
