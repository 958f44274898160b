"""A run as data: everything that decides its result."""

import operator
import re
import reprlib
from dataclasses import dataclass

from ldru.base.errors import LdruError, RunError, unknown_name
from ldru.base.json import Json, digest, from_json, to_json
from ldru.models.registry import MODELS, model_name
from ldru.models.spec import ModelSpec
from ldru.paper.table import Setup
from ldru.tasks.spec import TaskSpec
from ldru.training.spec import TrainSpec

FORMAT = 1
"""Raised when a run folder of the version before can no longer be read."""

STEPS_WITHOUT_WORDS = ("consolidated", "taught")
"""Settings of runs that were trained on tables."""

SIGNS = {"*": "star", "+": "plus", "?": "maybe", "|": "or", "&": "and"}
"""Of regular expressions, as a folder's name spells them."""


@dataclass(frozen=True, kw_only=True)
class RunSpec:
    """One model, one task, one seed.

    init_from: the digest of the run whose weights it starts from.
    counterexamples: words that are among its hard ones from the start.
    consolidated: the steps by which that run was consolidated (`ldru.consolidate`), where it was
        not trained on words.
    taught: the steps in which it was taught products of a monoid (`ldru.teach`), instead of words;
        of `train` only what is about validations holds then.
    """

    task: TaskSpec
    model: ModelSpec
    train: TrainSpec
    seed: int
    init_from: str | None = None
    counterexamples: tuple[str, ...] = ()
    consolidated: int = 0
    taught: int = 0

    @classmethod
    def of(cls, setup: Setup, *, seed: int) -> "RunSpec":
        """A run of a cell of a table."""
        return cls(task=setup.task, model=setup.model, train=setup.train, seed=check_seed(seed))

    @property
    def digest(self) -> str:
        return digest(self.to_json())

    @property
    def name(self) -> str:
        """A name for people and file systems, unique by the digest."""
        spelled = "".join(f"_{SIGNS[c]}_" if c in SIGNS else c for c in self.task.name)
        task = re.sub(r"[\W_]+", "_", spelled).strip("_")[:40] or "task"
        return f"{task}-{model_name(self.model)}-seed{self.seed}-{self.digest[:8]}"

    def to_json(self) -> dict[str, Json]:
        """As JSON values, with the format's number."""
        # Left out where there are none, so that the names of older runs stay.
        more: dict[str, Json] = {}
        if self.counterexamples:
            more["counterexamples"] = list(self.counterexamples)
        for name in STEPS_WITHOUT_WORDS:
            if steps := getattr(self, name):
                more[name] = steps
        return {
            "format": FORMAT,
            "task": to_json(self.task),
            "model": {"name": model_name(self.model), **to_json(self.model)},
            "train": to_json(self.train),
            "seed": self.seed,
            "init_from": self.init_from,
            **more,
        }

    @classmethod
    def from_json(cls, data: Json) -> "RunSpec":
        """From JSON values; another format's number is an error."""
        if not isinstance(data, dict) or "format" not in data:
            raise RunError("these are not the settings of a run: no 'format' in them")
        if data["format"] != FORMAT:
            raise RunError(
                f"the run has format {reprlib.repr(data['format'])}, this version reads format "
                f"{FORMAT}; open it with the version of ldru that wrote it"
            )
        missing = {"task", "model", "train", "seed"} - set(data)
        if missing:
            raise RunError(f"the settings of the run lack {', '.join(sorted(missing))}")
        model, seed = data["model"], check_seed(data["seed"])
        if not isinstance(model, dict):
            raise LdruError("the settings of the run need a model's settings")
        name = str(model.get("name"))
        if name not in MODELS:
            problem = unknown_name("model", name, MODELS)
            raise LdruError(
                f"{problem}; one of your own has to be registered first (ldru.register)"
            )
        settings = {key: value for key, value in model.items() if key != "name"}
        init_from = data.get("init_from")
        if init_from is not None and not re.fullmatch("[0-9a-f]{1,64}", str(init_from)):
            raise LdruError(f"init_from is a run's digest, got {reprlib.repr(init_from)}")
        words = data.get("counterexamples", [])
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            raise LdruError(
                f"counterexamples of a run are a list of words, got {reprlib.repr(words)}"
            )
        steps = {name: _steps(data.get(name, 0), name) for name in STEPS_WITHOUT_WORDS}
        return cls(
            task=from_json(TaskSpec, data["task"]),
            model=from_json(MODELS[name], settings),
            train=from_json(TrainSpec, data["train"]),
            seed=seed,
            init_from=None if init_from is None else str(init_from),
            counterexamples=tuple(map(str, words)),
            **steps,
        )


def _steps(given: Json, name: str) -> int:
    if type(given) is not int or not 0 <= given < 2**63:
        raise LdruError(f"{name} counts steps, a whole number, got {reprlib.repr(given)}")
    return given


def check_seed(seed: object) -> int:
    """A seed as a whole number, or an error."""
    try:
        number = operator.index(seed)  # type: ignore[arg-type]
    except TypeError as problem:
        raise LdruError(f"a seed is a whole number, got {reprlib.repr(seed)}") from problem
    if isinstance(seed, bool):
        raise LdruError(f"a seed is a whole number, got {seed}")
    if not 0 <= number < 2**63:
        raise LdruError(f"a seed lies between 0 and 2**63 - 1, got {reprlib.repr(number)}")
    return number
