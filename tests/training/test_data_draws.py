"""Data sets in epochs: every word once, batches of like lengths, the same alone and in a fleet."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
import torch

import ldru
from ldru.base.errors import LdruError
from ldru.tasks import padded
from ldru.tasks.data_task import DataTask
from ldru.tasks.listops import Generator, Grammar
from ldru.tasks.padded import DeviceWords, batches_by_length, padded_length
from ldru.tasks.spec import TaskSpec
from ldru.tasks.task import Encoded
from ldru.tasks.word_set import WordSet
from ldru.training.checkpoint import Checkpoint
from ldru.training.draws.data import PLANNED, POOL, DataDraws
from ldru.training.fleet import Fleet
from ldru.training.loop import REPORT_EVERY, train_fleet
from ldru.training.member import Member
from ldru.training.spec import TrainSpec

SETTINGS = TrainSpec(
    steps=60,
    learning_rate=1e-3,
    batch_size=8,
    optimizer="adam",
    validation_words=30,
    validate_every=30,
    precision="float64",
)


def words_of(lengths, *, seed=0, symbols=6, classes=3):
    random = np.random.default_rng(seed)
    words = [random.integers(symbols, size=length).tolist() for length in lengths]
    return WordSet.of(words, [sum(word) % classes for word in words])


def make_task(count=100, *, seed=0, longest=9, validation=40):
    random = np.random.default_rng(seed)
    sets = {
        "train": words_of(random.integers(1, longest + 1, size=count), seed=seed),
        "validation": words_of(random.integers(1, longest + 1, size=validation), seed=seed + 1),
    }
    return DataTask(
        spec=TaskSpec(name=f"data_{count}_{seed}"),
        vocab_size=6,
        num_classes=3,
        tests=(),
        open_set=sets.__getitem__,
        read_texts=lambda texts: [Encoded(np.array(list(map(int, text)))) for text in texts],
    )


def member(task, seed, **changes):
    settings = replace(SETTINGS, **changes)
    build = ldru.LDRUSpec(dim=6, dropout=0.2).build
    return Member(name=f"{task.name}-{seed}", task=task, build=build, seed=seed, settings=settings)


def sampler_of(tasks, seeds, batch_size):
    return DataDraws(tasks, seeds, batch_size=batch_size, device=torch.device("cpu"))


def rows_of(sampler, begin, end):
    """The planned word numbers of steps: [members, steps, batch]."""
    sampler.plan(begin, end, SETTINGS)
    steps = torch.arange(begin, end) % PLANNED
    return sampler._plan[:, steps].clone()


def test_an_epoch_has_every_word_once_in_an_order_of_its_own():
    task = make_task(96)
    sampler = sampler_of([task, task], [0, 1], 6)
    first = rows_of(sampler, 0, 64).reshape(2, -1)
    for rows in first:  # a pool is an epoch here: 16 batches of 6
        for epoch in rows.reshape(-1, 96):
            assert sorted(epoch.tolist()) == list(range(96))
    batches = [
        {frozenset(batch) for batch in epoch.reshape(16, 6).tolist()}
        for rows in first
        for epoch in rows.reshape(-1, 96)
    ]
    assert all(one != other for one, other in itertools.combinations(batches, 2))
    # A pool that begins within an epoch still leaves no word out.
    odd = sampler_of([make_task(100)], [0], 5)
    stream = torch.cat([rows_of(odd, begin, begin + 40).flatten() for begin in range(0, 400, 40)])
    counts = torch.bincount(stream, minlength=100)
    assert len(stream) == 2000
    assert counts.tolist() == [20] * 100


def test_a_step_has_the_same_words_however_it_is_come_to():
    task = make_task(1000)
    whole = rows_of(sampler_of([task], [3], 4), 0, 64)
    parts = sampler_of([task], [3], 4)
    pieces = [rows_of(parts, a, b) for a, b in ((0, 7), (7, 8), (8, 50), (50, 64))]
    assert torch.equal(torch.cat(pieces, dim=1), whole)
    assert torch.equal(rows_of(sampler_of([task], [3], 4), 37, 50), whole[:, 37:50])
    with pytest.raises(LdruError, match="at most 64 steps"):
        parts.plan(0, 65, SETTINGS)


def test_a_batch_holds_the_words_and_labels_of_the_set():
    tasks = [make_task(50), make_task(70, seed=5)]
    sampler = sampler_of(tasks, [0, 1], 4)
    lengths = sampler.plan(10, 30, SETTINGS)
    for step, length in enumerate(lengths, start=10):
        numbers = sampler._plan[:, step % PLANNED] - torch.tensor([[0], [50]])
        batch = sampler.training(torch.tensor(step), length, SETTINGS)
        assert batch.tokens.shape == (2, 4, length)
        for task, some, *rows in zip(tasks, numbers.tolist(), *batch, strict=True):
            words = task.words("train")
            for number, tokens, label, count in zip(some, *rows, strict=True):
                assert tokens[:count].tolist() == words[number].tolist()
                assert not tokens[count:].any()
                assert label == words.labels[number]


def nodes(lengths):
    """Nodes above the leaves, by the definition of the reduction."""
    total = 0
    for length in lengths:
        while length > 1:
            length = (length + 1) // 2
            total += length
    return total


@pytest.mark.parametrize("members", [1, 5])
def test_padding_wastes_less_than_15_percent_of_listops_nodes(members):
    generator = Generator(Grammar(max_depth=3, max_arguments=9), longest=40)
    random = np.random.PCG64(0)
    lengths = generator.lengths(5, 40).draw(np.zeros(40_000, dtype=np.int64), random)
    tokens, offsets = generator.draw(lengths, random)
    words = WordSet(tokens=tokens, offsets=offsets, labels=np.zeros(len(lengths), dtype=np.uint8))
    task = replace(make_task(), open_set=lambda name: words, vocab_size=15)
    sampler = sampler_of([task] * members, range(members), 128)
    done = needed = 0
    seen = set()
    for begin in range(0, 256, PLANNED):
        padded = sampler.plan(begin, begin + PLANNED, SETTINGS)
        seen.update(padded)
        done += nodes(padded) * 128 * members
        needed += nodes(words.lengths[sampler._plan.flatten().numpy()])
    assert 1 <= done / needed < 1.15
    assert len(seen) < 40  # as many captured steps, at most


def test_padded_lengths_are_few_and_near():
    lengths = range(1, 4097)
    found = [padded_length(length) for length in lengths]
    assert all(n <= p < n * (1 + 1 / 16) or p == n for n, p in zip(lengths, found, strict=True))
    assert found[:32] == list(range(1, 33))
    assert len(set(found)) < 160


def test_words_of_any_vocabulary_come_back_by_length(monkeypatch):
    random = np.random.default_rng(0)
    words = [random.integers(70_000, size=n).tolist() for n in random.integers(1, 30, size=40)]
    words[3][0] = 69_999
    found = WordSet.of(words, list(range(40)))
    back = {}
    monkeypatch.setitem(padded.BATCH_TOKENS, "cpu", 60)
    for batch in batches_by_length(found, device="cpu"):
        assert batch.tokens.numel() <= 60 or len(batch.tokens) == 1
        for tokens, label, length in zip(*batch, strict=True):
            back[int(label)] = tokens[:length].tolist()
    assert back == dict(enumerate(words))
    assert DeviceWords([found], device="cpu").tokens.dtype == torch.int32


def step_many(fleet, begin, end):
    for shape in fleet.plan(begin, end):
        fleet.step(*shape)


def test_a_member_is_what_it_would_be_alone():
    """In another fleet words are padded further, which the law of padding makes no difference."""
    kinds = [(make_task(100), 0), (make_task(100), 1), (make_task(60, seed=3, longest=14), 0)]
    together = Fleet([member(*kind) for kind in kinds])
    step_many(together, 0, 50)
    for index, kind in enumerate(kinds):
        alone = Fleet([member(*kind)])
        step_many(alone, 0, 50)
        for name, weights in alone.weights(0).items():
            other = together.weights(index)[name]
            torch.testing.assert_close(other, weights, rtol=0, atol=1e-8)


def test_validation_scores_each_members_own_words():
    fleet = Fleet([member(make_task(100), 0), member(make_task(60, seed=3), 1)])
    losses, accuracies = fleet.validate()
    for index, one in enumerate(fleet.members):
        model, words = one.model().double().eval(), one.task.words("validation")
        scores = torch.cat([model(torch.tensor(words[i].tolist())[None]) for i in range(30)])
        labels = torch.tensor(words.labels[:30].tolist())
        loss = torch.nn.functional.cross_entropy(scores, labels)
        torch.testing.assert_close(losses[index], loss)
        assert accuracies[index] == (scores.argmax(dim=1) == labels).double().mean()
    some = [member(make_task(100), 0), member(make_task(60, validation=20), 1)]
    with pytest.raises(LdruError, match="share the number of validation words"):
        Fleet(some).validate()


def test_members_finish_and_others_go_on():
    finished = {}
    task = make_task(100)
    some = [member(task, 0, steps=20), member(task, 1, steps=45)]
    train_fleet(some, on_finish=lambda who, weights, log: finished.update({who.seed: weights}))
    alone = Fleet([member(task, 1, steps=45)])
    step_many(alone, 0, 45)
    for name, weights in alone.weights(0).items():
        torch.testing.assert_close(finished[1][name], weights, rtol=0, atol=1e-8)


class StoppedError(Exception):
    """Stands in for a sudden end."""


def test_a_stopped_training_goes_on_to_the_same_bits(tmp_path):
    class Stopper:
        def on_steps(self, step, losses):
            if step == 50:
                raise StoppedError

        def on_log(self, entries):
            pass

    some = [member(make_task(100), seed, associativity=0.5) for seed in (0, 1)]
    whole, resumed = {}, {}
    train_fleet(some, on_finish=lambda who, weights, log: whole.update({who.name: weights}))
    kept = Checkpoint(tmp_path / "kept")
    stopping = ldru.Execution(checkpoint_seconds=0.0, observers=[Stopper()])
    with pytest.raises(StoppedError):
        train_fleet(some, on_finish=lambda *_: None, execution=stopping, checkpoint=kept)
    assert 0 < kept.load().step < 50
    train_fleet(
        some,
        on_finish=lambda who, weights, log: resumed.update({who.name: weights}),
        checkpoint=kept,
    )
    for name, weights in whole.items():
        assert all(torch.equal(weights[key], resumed[name][key]) for key in weights)


def test_data_sets_and_drawn_words_do_not_mix():
    drawn = Member(
        name="parity",
        task=ldru.task("parity_check"),
        build=ldru.LDRUSpec(dim=6).build,
        seed=0,
        settings=SETTINGS,
    )
    with pytest.raises(LdruError, match="several calls"):
        Fleet([drawn, member(make_task(), 0)])


def test_pools_are_as_documented():
    assert PLANNED % POOL == 0
    assert REPORT_EVERY <= PLANNED  # the loop plans no more at once


def test_batches_of_a_pool_come_in_no_order_of_length():
    sampler = sampler_of([make_task(POOL * 8, longest=40)], [0], batch_size=8)
    by_pool = [sampler.plan(n * POOL, (n + 1) * POOL, SETTINGS) for n in range(4)]
    for lengths in by_pool:
        assert lengths not in (sorted(lengths), sorted(lengths, reverse=True))
    orders = {tuple(np.argsort(np.array(lengths) + np.arange(POOL) / 100)) for lengths in by_pool}
    assert len(orders) == 4
