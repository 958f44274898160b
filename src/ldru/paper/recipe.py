"""Recipes: settings of an LDRU and of its training that belong together. They are data."""

from dataclasses import dataclass
from typing import Literal, get_args

from ldru.base.errors import unknown_name
from ldru.models.settings import LDRUSpec
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
    if name not in RECIPES:
        raise unknown_name("recipe", name, get_args(RecipeName))
    return RECIPES[name]
