"""Recipes: settings of an LDRU and of its training that belong together. They are data."""

from dataclasses import dataclass
from typing import Literal, get_args

from ldru.base.errors import LdruError, unknown_name
from ldru.models.registry import model_name, model_spec
from ldru.models.settings import LDRUSpec
from ldru.models.spec import ModelSpec
from ldru.paper.settings import default_model, study_of, study_training
from ldru.tasks.spec import TaskSpec
from ldru.training.spec import TrainSpec

RecipeName = Literal["random_trees", "paper"]


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """How to train an LDRU on a regular language.

    >>> found = ldru.recipe("random_trees")
    >>> found.model.leaf_block, found.train.random_trees, found.train.l2
    (True, 0.5, 0.0)
    """

    model: LDRUSpec
    train: TrainSpec


RECIPES: dict[str, Recipe] = {
    # Chosen on languages other than the paper's 21: results/recipe_search.md.
    "random_trees": Recipe(
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
    # The settings of the paper's text; what depends on the task is left open.
    "paper": Recipe(model=LDRUSpec(), train=TrainSpec()),
}


def recipe(name: str) -> Recipe:
    """A recipe by name: `random_trees`, which is ours, or `paper`.

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

    name: None takes ours for an LDRU on a regular language, and the paper's settings otherwise.
    """
    chosen = recipe("random_trees" if name is None else name)
    kind = model_name(model_spec(model))
    is_for_it = kind == "ldru" and study_of(task) == "regular"
    if not is_for_it and name not in (None, "paper"):
        raise LdruError(
            f"the recipe {name} is for an LDRU on a regular language, not for {kind} on "
            f"{task.name}: leave it out"
        )
    if not is_for_it:
        return default_model(task, model), study_training(task, kind)
    return chosen.model if isinstance(model, str) else model, chosen.train
