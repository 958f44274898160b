"""Small tables, and working on them."""

from dataclasses import replace

from ldru.models.settings import LDRUSpec, RNNSpec
from ldru.paper.table import Column, Reported, Table
from ldru.reproduce.board import Board
from ldru.reproduce.engines import make_engine
from ldru.training.spec import TrainSpec

TRAIN = TrainSpec(
    steps=4, batch_size=4, max_length=4, validation_words=4, validation_length=6, validate_every=2
)


def small_table(**changes):
    table = Table(
        name="small",
        caption="For tests.",
        tasks=("parity_check", "dyck_2"),
        columns={
            "ldru": Column(model=LDRUSpec(dim=4), train=TRAIN),
            "rnn": Column(model=RNNSpec(dim=4), train=TRAIN),
        },
        seeds=(0, 1),
        lengths=(5, 6),
        words=8,
        reference="ldru",
        reported={("parity_check", "ldru"): Reported(mean=99.25, std=0.5, seeds=(98.0, 100.0))},
    )
    return replace(table, **changes)


def work(engine, jobs):
    engine = make_engine(engine) if isinstance(engine, str) else engine
    with Board(jobs) as board:
        engine.run(jobs, board)
    return board


def without(record, part):
    """A record as it was before it was evaluated on a set."""
    kept = {name: found for name, found in record["evaluation"].items() if name != part}
    return {**record, "evaluation": kept}


def one_run():
    return small_table(tasks=("parity_check",), seeds=(0,)).restricted(columns=["rnn"])
