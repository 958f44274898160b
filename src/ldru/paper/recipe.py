"""Recipes: settings of an LDRU and of its training that belong together. They are data."""

from dataclasses import dataclass, replace
from typing import Literal, get_args

from ldru.base.errors import LdruError, unknown_name
from ldru.models.registry import model_name, model_spec
from ldru.models.settings import LDRUSpec
from ldru.models.spec import ModelSpec
from ldru.paper.settings import (
    MODEL_SETTINGS,
    TEXT,
    Study,
    default_model,
    per_task,
    study_of,
    study_training,
)
from ldru.tasks.spec import TaskSpec
from ldru.training.spec import TrainSpec

RecipeName = Literal["random_trees", "open_gates", "paper"]


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """How to train an LDRU on the tasks of a study.

    What is None there, and the batch size of texts, is left to the task.

    >>> found = ldru.recipe("random_trees")
    >>> found.model.leaf_block, found.train.random_trees, found.train.l2
    (True, 0.5, 0.0)
    """

    study: Study
    model: LDRUSpec
    train: TrainSpec


PAPER: RecipeName = "paper"
RECIPES: dict[str, Recipe] = {
    # Chosen on languages other than the paper's 21: results/recipe_search.md.
    "random_trees": Recipe(
        study="regular",
        model=LDRUSpec(leaf_block=True, dropout=0.15),
        train=TrainSpec(
            steps=100_000,
            learning_rate=1e-3,
            l2=0.0,
            decay="cosine",
            random_trees=0.5,
            dropout_rise=1.0,
        ),
    ),
    # Chosen on training texts of AG's News: docs/text.md.
    "open_gates": Recipe(
        study="text",
        model=replace(
            LDRUSpec(**MODEL_SETTINGS["text"]["ldru"]),  # type: ignore[arg-type]
            gates="open",
            embedding_std=0.004,
            dropout=0.1,
        ),
        train=replace(TEXT, decay="cosine"),
    ),
    # The settings of the paper's text; it has others for each study, and leaves open what depends
    # on the task.
    PAPER: Recipe(study="regular", model=LDRUSpec(), train=TrainSpec()),
}
OURS = {found.study: name for name, found in RECIPES.items() if name != PAPER}
"""What an LDRU has by default, by study; without one of its own, a study has the paper's."""

WANTED = {"regular": "a regular language", "listops": "ListOps", "text": "a set of texts"}


def recipe(name: str) -> Recipe:
    """A recipe by name: ours are `random_trees` for languages and `open_gates` for texts.

    The third, `paper`, has the settings of the paper's text.

    >>> chosen = ldru.recipe("random_trees")
    >>> runs = ldru.train("dyck_2", model=ldru.LDRUSpec(dim=8), settings=chosen.train, steps=2)
    >>> runs[0].spec.train.decay
    'cosine'
    """
    if not isinstance(name, str) or name not in RECIPES:
        raise unknown_name("recipe", name, get_args(RecipeName))
    return RECIPES[name]


def settings_by(
    name: str | None, task: TaskSpec, model: str | ModelSpec
) -> tuple[ModelSpec, TrainSpec]:
    """A model and its training by a recipe; a model that is no name stays as it is given.

    name: None takes ours for an LDRU where we have one, and the paper's settings otherwise.
    """
    kind, study = model_name(model_spec(model)), study_of(task)
    ours = OURS.get(study) if kind == "ldru" and study is not None else None
    name = (ours or PAPER) if name is None else name
    chosen = recipe(name)
    if name == PAPER:
        return default_model(task, model), study_training(task, kind)
    if name != ours:
        raise LdruError(
            f"the recipe {name} is for an LDRU on {WANTED[chosen.study]}, not for {kind} on "
            f"{task.name}: leave it out"
        )
    settings = chosen.model if isinstance(model, str) else model
    return settings, replace(
        chosen.train, batch_size=per_task(task).batch_size or chosen.train.batch_size
    )
