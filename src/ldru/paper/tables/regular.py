"""The study of regular languages: the central table and the paper's ablations of it."""

from dataclasses import replace

from ldru.models.registry import MODELS
from ldru.models.settings import LDRUSpec, RegularGPTSpec
from ldru.paper import reported
from ldru.paper.recipe import RECIPES
from ldru.paper.table import Column, Table
from ldru.tasks.regular import TASKS
from ldru.training.spec import TrainSpec

FOUR = ("even_pairs", "modular_arithmetic", "parity_check", "cycle_navigation")
COMPARED = (
    "ldru",
    "rnn",
    "lstm",
    "gated_deltanet",
    "transformer_nope",
    "transformer_alibi",
    "transformer_rope",
    "s5",
    "sd_ssm",
    "regular_gpt",
    "bbt_grc",
)

PROTOCOL = TrainSpec(validate_every=5000)
"""The paper's settings; validations at length 500 cost many steps, so a curve has fewer points."""


def _by_recipe(name: str, **changes: int | float | str) -> Column:
    chosen = RECIPES[name]
    settings = {"validate_every": PROTOCOL.validate_every, **changes}
    train = replace(chosen.train, **settings)  # type: ignore[arg-type]
    return Column(model=chosen.model, train=train)


CENTRAL = Table(
    name="central",
    caption="Mean accuracy over lengths 41 to 500, trained on words up to 40.",
    tasks=tuple(TASKS),
    columns={name: Column(model=MODELS[name](), train=PROTOCOL) for name in COMPARED},
    reference="ldru",
    figure="accuracy",
    reported=reported.cells("central_ood", seeds="central_seeds"),
)

IN_DISTRIBUTION = replace(
    CENTRAL,
    name="central_id",
    caption="Mean accuracy over lengths 1 to 40, trained on words up to 40.",
    lengths=tuple(range(1, 41)),
    figure=None,
    reported=reported.cells("central_id"),
)

TRAINING_LENGTH = Table(
    name="training_length",
    caption="Mean accuracy over lengths 41 to 500 of Dyck languages by the longest training word.",
    tasks=("dyck_4", "dyck_6", "dyck_8", "dyck_12"),
    columns={
        f"{name}-{length}": Column(model=MODELS[name](), train=replace(PROTOCOL, max_length=length))
        for length in (40, 60, 100, 150)
        for name in ("ldru", "rnn")
    },
    figure="training_length",
    reported=reported.training_length_cells(),
)

OPERATORS = Table(
    name="operators",
    caption="Mean accuracy over lengths 41 to 500 by the LDRU's operator.",
    tasks=FOUR,
    columns={
        name: Column(model=LDRUSpec(operator=name), train=PROTOCOL)
        for name in ("element_sum", "linear", "gated_sum", "grc", "mlp")
    },
    reported=reported.cells("operators", seeds="operator_seeds"),
)

SIZES = Table(
    name="sizes",
    caption="Mean accuracy over lengths 41 to 500 by the LDRU's width.",
    tasks=FOUR,
    columns={
        str(dim): Column(model=LDRUSpec(dim=dim), train=PROTOCOL) for dim in (16, 32, 64, 128)
    },
    reported=reported.cells("size_ablation"),
)

OPTIMIZERS = Table(
    name="optimizers",
    caption="Mean accuracy over lengths 41 to 500 by optimiser and dropout, ten seeds.",
    tasks=("modular_arithmetic",),
    columns={
        f"{optimizer}-{dropout}": Column(
            model=LDRUSpec(dropout=dropout), train=TrainSpec(optimizer=optimizer)
        )
        for optimizer in ("adam", "amsgrad")
        for dropout in (0.0, 0.1)
    },
    seeds=tuple(range(10)),
    figure="optimizers",
    reported=reported.optimizer_cells(),
)

_VARIANTS = {
    "ldru": Column(model=LDRUSpec(), train=PROTOCOL),
    "leaf_block": Column(model=LDRUSpec(leaf_block=True), train=PROTOCOL),
    "leaf_block_no_l2": Column(model=LDRUSpec(leaf_block=True), train=replace(PROTOCOL, l2=0.0)),
}
LEAF_BLOCK = Table(
    name="leaf_block",
    caption="Mean accuracy over lengths 41 to 500 with one more residual block on the leaves, and "
    "with that and no L2 term.",
    tasks=tuple(TASKS),
    columns=_VARIANTS,
    reported=reported.ldru_cells(CENTRAL.reported, *_VARIANTS),
)

L2 = Table(
    name="l2",
    caption="Mean accuracy over lengths 41 to 500 by the weight of L2, also with a leaf block.",
    tasks=(
        *("tomita_3", "tomita_5", "prefix_4_4", "modular_arithmetic"),
        *("dyck_4", "dyck_6", "dyck_8", "dyck_12"),
    ),
    columns={
        f"{'leaf-' if leaf_block else ''}{l2:g}": Column(
            model=LDRUSpec(leaf_block=leaf_block), train=replace(PROTOCOL, l2=l2)
        )
        for leaf_block in (False, True)
        for l2 in (5e-4, 5e-5, 0.0)
    },
    reported={
        (task, "0.0005"): cell
        for (task, label), cell in CENTRAL.reported.items()
        if label == "ldru"
    },
)
"""Not the paper's: the tasks on which the LDRU fell below it, by what may be the reason."""

SWEEP = Table(
    name="regular_gpt_sweep",
    caption="RegularGPT on modular arithmetic by optimiser, learning rate and dropout.",
    tasks=("modular_arithmetic",),
    columns={
        reported.sweep_label(optimizer=optimizer, learning_rate=rate, dropout=dropout): Column(
            model=RegularGPTSpec(dropout=dropout),
            train=replace(PROTOCOL, optimizer=optimizer, learning_rate=rate),
        )
        for optimizer in ("adam", "amsgrad")
        for rate in (1e-4, 3e-4, 5e-4)
        for dropout in (0.0, 0.1)
    },
    seeds=(0,),
    reported=reported.sweep_cells(),
)

RECIPES_TABLE = replace(
    CENTRAL,
    name="recipes",
    caption="Mean accuracy over lengths 41 to 500 of LDRUs trained on words up to 40, by recipe: "
    "random_trees (ours, the same settings and 100,000 steps for every task) and paper (the "
    "settings of its text, 100,000 or 1,000,000 steps).",
    columns={name: _by_recipe(name) for name in ("random_trees", "paper")},
    reference="random_trees",
    figure=None,
    reported=reported.ldru_cells(CENTRAL.reported, "random_trees"),
)

RECIPES_IN_DISTRIBUTION = replace(
    RECIPES_TABLE,
    name="recipes_id",
    caption="Mean accuracy over lengths 1 to 40 of LDRUs trained on words up to 40, by recipe.",
    lengths=IN_DISTRIBUTION.lengths,
    reported=reported.ldru_cells(IN_DISTRIBUTION.reported, "random_trees"),
)

LABELS = replace(
    RECIPES_TABLE,
    name="labels",
    caption="Mean accuracy over lengths 41 to 500 of LDRUs by our recipe, by what they are told: "
    "the labels of words, for 100,000 steps, or those of all stretches of words that a tree has a "
    "node for (factors), for 60,000.",
    columns={
        "words": _by_recipe("random_trees"),
        "factors": _by_recipe("random_trees", steps=60_000, labels="factors"),
    },
    reference="words",
    reported={},
)
"""Not the paper's: whether a label for every node does more than one for every word."""

LABELS_BY_STEP = replace(
    LABELS,
    name="labels_by_step",
    caption="Mean accuracy over lengths 41 to 500 of LDRUs by our recipe after 20,000 steps, by "
    "what they are told: the labels of words, those of all prefixes too, or those of all stretches "
    "of words that a tree has a node for (factors).",
    columns={
        told: _by_recipe("random_trees", steps=20_000, labels=told, validate_every=500)
        for told in ("words", "prefixes", "factors")
    },
    seeds=(0,),
)
"""Not the paper's: how many steps each takes; validations are frequent, so that logs tell."""

CLASSES = replace(
    LABELS,
    name="classes",
    caption="Mean accuracy over lengths 41 to 500 of LDRUs by our recipe (random_trees), and of "
    "others that are told the classes of all stretches of their words, three quarters of which are "
    "of two stretches of any two classes: by steps, classes_60k of batches of 256, the others of "
    "64.",
    tasks=("modular_arithmetic", "dyck_4", "dyck_6", "dyck_8", "dyck_12"),
    columns={
        "random_trees": _by_recipe("random_trees"),
        **{
            f"classes_{steps // 1000}k": _by_recipe(
                "random_trees",
                steps=steps,
                batch_size=batch_size,
                labels="classes",
                compositions=0.75,
            )
            for steps, batch_size in ((60_000, 256), (45_000, 64), (15_000, 64))
        },
    },
    reference="random_trees",
)
"""Not the paper's: told the algebra of the tasks whose words alone do not teach it; those of
batches of 64 are small enough for a CPU."""

EQUAL_BUDGET = replace(
    CENTRAL,
    name="equal_budget",
    caption="Mean accuracy over lengths 41 to 500 after the same 20,000 steps of every model; the "
    "paper's models took 100,000 to 1,000,000.",
    columns={
        "ldru_recipe": _by_recipe("random_trees", steps=20_000),
        **{
            name: Column(model=MODELS[name](), train=replace(PROTOCOL, steps=20_000))
            for name in COMPARED
        },
    },
    reference="ldru_recipe",
)
"""Not the paper's: the same words, batches and steps for all, with its rates and dropouts."""

EQUAL_BUDGET_IN_DISTRIBUTION = replace(
    EQUAL_BUDGET,
    name="equal_budget_id",
    caption="Mean accuracy over lengths 1 to 40 after the same 20,000 steps of every model; the "
    "paper's models took 100,000 to 1,000,000.",
    lengths=IN_DISTRIBUTION.lengths,
    figure=None,
    reported=IN_DISTRIBUTION.reported,
)

STATE_TRACKING = Table(
    name="state_tracking",
    caption="Mean accuracy over lengths 41 to 500 on the word problems of groups, over all of "
    "their elements, after 20,000 steps of every model on words up to 40. Z60 and A4 x Z5 are "
    "solvable, A5 and S5 are not. Models are told the labels of words, ldru_factors those of all "
    "stretches of words that a tree has a node for.",
    tasks=("group_S3", "group_Z60", "group_A4xZ5", "group_A5", "group_S5"),
    columns={
        "ldru_factors": _by_recipe("random_trees", steps=20_000, labels="factors"),
        **EQUAL_BUDGET.columns,
        **{
            name: Column(model=MODELS[name](), train=replace(PROTOCOL, steps=20_000))
            for name in ("transformer_sinusoidal", "rir_grc")
        },
    },
    reference="ldru_recipe",
    figure="accuracy",
)
"""Not the paper's: what models of fixed depth are argued about by."""

STATE_TRACKING_IN_DISTRIBUTION = replace(
    STATE_TRACKING,
    name="state_tracking_id",
    caption="Mean accuracy over lengths 1 to 40 on the word problems of groups, after 20,000 steps "
    "of every model on words up to 40.",
    lengths=IN_DISTRIBUTION.lengths,
    figure=None,
)

TABLES: dict[str, Table] = {
    table.name: table
    for table in (
        CENTRAL,
        IN_DISTRIBUTION,
        TRAINING_LENGTH,
        OPERATORS,
        SIZES,
        OPTIMIZERS,
        LEAF_BLOCK,
        L2,
        SWEEP,
        RECIPES_TABLE,
        RECIPES_IN_DISTRIBUTION,
        LABELS,
        LABELS_BY_STEP,
        CLASSES,
        EQUAL_BUDGET,
        EQUAL_BUDGET_IN_DISTRIBUTION,
        STATE_TRACKING,
        STATE_TRACKING_IN_DISTRIBUTION,
    )
}
