"""The data sets of texts, and where their files lie.

A subset is a data set of its own, whose name says so: `qnli_subset` is never taken for `qnli`.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from ldru.tasks.data_task import TRAIN

GLUE = "https://gluebenchmark.com/tasks"
ZHANG = "the data sets of Zhang, Zhao and LeCun (2015)"


@dataclass(frozen=True, kw_only=True)
class Official:
    """The files that a data set was published as.

    files: of every set.
    texts, label: names of columns; several texts that are no pair are joined by a space.
    columns: their names where the files have no header.
    labels: what stands in the label column, in order of class.
    """

    files: Mapping[str, str]
    texts: tuple[str, ...]
    label: str
    labels: tuple[str, ...]
    columns: tuple[str, ...] = ()

    @property
    def is_csv(self) -> bool:
        return all(path.endswith(".csv") for path in self.files.values())


@dataclass(frozen=True, kw_only=True)
class Hub:
    """A data set of the Hugging Face hub: its name, its configuration, the split of every set."""

    name: str
    configuration: str | None
    splits: Mapping[str, str]
    texts: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class TextSet:
    """A data set of texts or of pairs of texts.

    labels: names of the classes.
    max_tokens: what longer texts are cut to, marks included.
    parquet: the files of every set in our own layout; the first set is for training.
    subset_of: what a subset is a part of.
    removed: a character taken out of all texts.
    metrics: what GLUE tells its results by.
    """

    name: str
    labels: tuple[str, ...]
    is_pair: bool
    max_tokens: int
    parquet: Mapping[str, tuple[str, ...]]
    origin: str
    official: Official | None = None
    hub: Hub | None = None
    subset_of: str | None = None
    removed: str = ""
    metrics: tuple[str, ...] = ("accuracy",)

    @property
    def tests(self) -> tuple[str, ...]:
        return tuple(name for name in self.parquet if name != TRAIN)


def _files(folder: str, *names: str, ending: str = "tsv") -> dict[str, str]:
    return {name: f"{folder}/{name}.{ending}" for name in names}


def _layout(folder: str, *names: str) -> dict[str, tuple[str, ...]]:
    return {name: (f"{folder}/{name}.parquet",) for name in names}


def _glue(configuration: str, texts: tuple[str, ...], **splits: str) -> Hub:
    splits = {TRAIN: "train", **(splits or {"dev": "validation"})}
    return Hub(name="nyu-mll/glue", configuration=configuration, splits=splits, texts=texts)


ENTAILMENT = ("entailment", "not_entailment")
INFERENCE = ("entailment", "neutral", "contradiction")
PARAPHRASE = ("f1", "macro_f1", "accuracy")
TOPICS = ("World", "Sports", "Business", "Sci/Tech")
KINDS = (
    *("Company", "EducationalInstitution", "Artist", "Athlete", "OfficeHolder"),
    *("MeanOfTransportation", "Building", "NaturalPlace", "Village", "Animal", "Plant", "Album"),
    *("Film", "WrittenWork"),
)

COLA = TextSet(
    name="cola",
    labels=("unacceptable", "acceptable"),
    is_pair=False,
    max_tokens=64,
    parquet=_layout("cola", TRAIN, "dev"),
    origin=GLUE,
    official=Official(
        files=_files("CoLA", TRAIN, "dev"),
        columns=("source", "label", "mark", "sentence"),
        texts=("sentence",),
        label="label",
        labels=("0", "1"),
    ),
    hub=_glue("cola", ("sentence",)),
    metrics=("matthews", "accuracy"),
)

SST2 = TextSet(
    name="sst2",
    labels=("negative", "positive"),
    is_pair=False,
    max_tokens=64,
    parquet=_layout("sst2", TRAIN, "dev"),
    origin=GLUE,
    official=Official(
        files=_files("SST-2", TRAIN, "dev"),
        texts=("sentence",),
        label="label",
        labels=("0", "1"),
    ),
    hub=_glue("sst2", ("sentence",)),
)

MRPC = TextSet(
    name="mrpc",
    labels=("different", "paraphrase"),
    is_pair=True,
    max_tokens=128,
    parquet=_layout("mrpc", TRAIN, "dev"),
    origin=GLUE,
    official=Official(
        files=_files("MRPC", TRAIN, "dev"),
        texts=("#1 String", "#2 String"),
        label="Quality",
        labels=("0", "1"),
    ),
    hub=_glue("mrpc", ("sentence1", "sentence2")),
    metrics=PARAPHRASE,
)

QQP = TextSet(
    name="qqp",
    labels=("different", "duplicate"),
    is_pair=True,
    max_tokens=256,
    parquet=_layout("qqp", TRAIN, "dev"),
    origin=GLUE,
    official=Official(
        files=_files("QQP", TRAIN, "dev"),
        texts=("question1", "question2"),
        label="is_duplicate",
        labels=("0", "1"),
    ),
    hub=_glue("qqp", ("question1", "question2")),
    metrics=PARAPHRASE,
)

MNLI = TextSet(
    name="mnli",
    labels=INFERENCE,
    is_pair=True,
    max_tokens=384,
    parquet=_layout("mnli", TRAIN, "dev_matched", "dev_mismatched"),
    origin=GLUE,
    official=Official(
        files=_files("MNLI", TRAIN, "dev_matched", "dev_mismatched"),
        texts=("sentence1", "sentence2"),
        label="gold_label",
        labels=INFERENCE,
    ),
    hub=_glue(
        "mnli",
        ("premise", "hypothesis"),
        dev_matched="validation_matched",
        dev_mismatched="validation_mismatched",
    ),
)

QNLI = TextSet(
    name="qnli",
    labels=ENTAILMENT,
    is_pair=True,
    max_tokens=384,
    parquet=_layout("qnli", TRAIN, "dev"),
    origin=GLUE,
    official=Official(
        files=_files("QNLI", TRAIN, "dev"),
        texts=("question", "sentence"),
        label="label",
        labels=ENTAILMENT,
    ),
    hub=_glue("qnli", ("question", "sentence")),
)

AG_NEWS = TextSet(
    name="ag_news",
    labels=TOPICS,
    is_pair=False,
    max_tokens=512,
    parquet=_layout("ag_news", TRAIN, "test"),
    origin=ZHANG,
    official=Official(
        files=_files("ag_news_csv", TRAIN, "test", ending="csv"),
        columns=("class", "title", "description"),
        texts=("title", "description"),
        label="class",
        labels=tuple(str(number) for number in range(1, 5)),
    ),
    hub=Hub(
        name="fancyzhx/ag_news",
        configuration=None,
        splits={TRAIN: "train", "test": "test"},
        texts=("text",),
    ),
)

DBPEDIA = TextSet(
    name="dbpedia",
    labels=KINDS,
    is_pair=False,
    max_tokens=256,
    parquet=_layout("dbpedia14", TRAIN, "test"),
    origin=ZHANG,
    official=Official(
        files=_files("dbpedia_csv", TRAIN, "test", ending="csv"),
        columns=("class", "title", "content"),
        texts=("content",),
        label="class",
        labels=tuple(str(number) for number in range(1, 15)),
    ),
    hub=Hub(
        name="fancyzhx/dbpedia_14",
        configuration=None,
        splits={TRAIN: "train", "test": "test"},
        texts=("content",),
    ),
)


def _subset(whole: TextSet, *, removed: str = "", **parquet: tuple[str, ...]) -> TextSet:
    return TextSet(
        name=f"{whole.name}_subset",
        labels=whole.labels,
        is_pair=whole.is_pair,
        max_tokens=whole.max_tokens,
        parquet=parquet,
        origin="a part of the official data set, made elsewhere",
        subset_of=whole.name,
        metrics=whole.metrics,
        removed=removed,
    )


SUBSETS = (
    _subset(QQP, train=("qqp/train_subset.parquet",), dev_bimpm=("qqp/dev_bimpm.parquet",)),
    _subset(
        MNLI,
        removed=".",  # its training texts have lost their full stops
        train=("mnli/train_subset.parquet",),
        dev_matched=("mnli/dev_matched.parquet",),
    ),
    _subset(QNLI, train=("qnli/train_subset.parquet",), dev=("qnli/dev.parquet",)),
    _subset(
        AG_NEWS,
        train=("ag_news/train_subset.parquet", "ag_news/train_subset_desc_only.parquet"),
        test=("ag_news/test.parquet",),
    ),
    _subset(
        DBPEDIA,
        train=("dbpedia14/subset_train.parquet",),
        subset_test=("dbpedia14/subset_test.parquet",),
    ),
)

TEXT_SETS: dict[str, TextSet] = {
    found.name: found for found in (COLA, SST2, MRPC, QQP, MNLI, QNLI, AG_NEWS, DBPEDIA, *SUBSETS)
}
