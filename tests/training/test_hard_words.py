"""Hard words, and dropout that rises."""

from collections import Counter
from dataclasses import replace

import pytest
import torch

import ldru
from ldru.base.randomness import Stream, fold, seed_key, words
from ldru.models.settings import LDRUSpec
from ldru.training.draws.regular import RegularDraws
from ldru.training.fleet import Fleet
from ldru.training.hard_words import POOL_SIZE, HardWords, edited, hardest
from ldru.training.member import Member
from ldru.training.spec import TrainSpec

SETTINGS = TrainSpec(
    steps=60,
    learning_rate=1e-3,
    batch_size=16,
    max_length=9,
    validation_words=8,
    validation_length=12,
    validate_every=20,
    precision="float64",
    random_trees=0.5,
    hard_words=0.25,
    dropout_rise=0.5,
)
CPU = torch.device("cpu")


def member(task="dyck_2", seed=0, **changes):
    return Member(
        name=f"{task}-{seed}",
        task=ldru.task(task),
        build=LDRUSpec(dim=4, dropout=0.2, leaf_block=True).build,
        seed=seed,
        settings=replace(SETTINGS, **changes),
    )


def test_an_edit_is_one_of_the_four_that_are_described():
    """Against a literal list of every word that one edit can make; all four kinds come up."""
    count, length = 400, 7
    lengths, symbols = torch.tensor([5, 7]), torch.tensor([2, 3])
    key = seed_key([1, 2])
    tokens = words(fold(key, 9), (count, length)) % symbols[:, None, None]
    tokens[0, :, 5:] = 0
    found = edited(tokens, lengths, symbols, key)
    assert torch.equal(found[0, :, 5:], tokens[0, :, 5:])  # padding stays
    kinds = Counter()
    for row in range(2):
        size = int(lengths[row])
        for before, after in zip(tokens[row].tolist(), found[row].tolist(), strict=True):
            possible = edits(before[:size], int(symbols[row]))
            names = [name for name, made in possible.items() if tuple(after[:size]) in made]
            assert names
            kinds.update(names if len(names) == 1 else [])
    assert set(kinds) == {"turned", "repeated", "swapped", "replaced"}


def edits(word, symbols):
    made = {"turned": set(), "repeated": set(), "swapped": set(), "replaced": set()}
    for begin in range(len(word)):
        for symbol in range(symbols):
            made["replaced"].add((*word[:begin], symbol, *word[begin + 1 :]))
        for end in range(begin + 1, len(word) + 1):
            part = word[begin:end]
            swapped = list(word)
            swapped[begin], swapped[end - 1] = word[end - 1], word[begin]
            made["swapped"].add(tuple(swapped))
            for shift in range(len(part)):
                turned = part[shift:] + part[:shift]
                repeated = (part[: shift + 1] * len(part))[: len(part)]
                made["turned"].add((*word[:begin], *turned, *word[end:]))
                made["repeated"].add((*word[:begin], *repeated, *word[end:]))
    return made


def test_the_hardest_words_are_taken_from_the_classes_in_turn():
    margins = torch.tensor([[3.0, 1.0, 2.0, 0.5, torch.inf, -1.0], [2.0, 1.0, *[torch.inf] * 4]])
    labels = torch.tensor([[0, 0, 1, 0, 1, 0], [1, 1, -1, 0, 0, 0]])
    assert hardest(margins, labels, count=4)[0].tolist() == [5, 2, 3, 1]
    assert hardest(margins, labels, count=5)[1].tolist() == [1, 0, 1, 0, 1]


def pools(names, **changes):
    draws = RegularDraws([ldru.task(name) for name in names], range(len(names)), device=CPU)
    return HardWords(draws, **{"share": 0.5, "max_length": 9, **changes})


def content(hard, index, length):
    """The words of a pool with their labels, as the task writes and labels them."""
    task = hard.draws.tasks[index]
    size = task.word_length(length)
    for tokens, label in zip(
        hard.tokens[index, length - 1], hard.labels[index, length - 1], strict=True
    ):
        assert not tokens[size:].any()
        yield tuple(tokens[:size].tolist()), int(label)


def indifferent(tokens, lengths):
    return torch.zeros(*tokens.shape[:2], 5)


def test_pools_hold_labelled_words_of_the_task_before_and_after_a_search():
    hard = pools(["dyck_2", "modular_arithmetic"])
    for _ in range(2):
        for index, task in enumerate(hard.draws.tasks):
            for length in (1, 2, 8, 9):
                for tokens, label in content(hard, index, length):
                    assert label == task.machine.run(torch.tensor([tokens]).numpy())[0] >= 0
        hard.search(indifferent, torch.tensor(0))


def test_a_search_finds_rare_words_that_are_answered_wrongly_and_keeps_them():
    """A judge that is right but on the words with 1111110 in them, one word in fourteen."""
    hard = pools(["parity_check"])

    def scores(tokens, lengths):
        wrong = is_wrong(tokens)
        answer = (1 - tokens.sum(dim=2) % 2) ^ wrong
        return torch.nn.functional.one_hot(answer, 5).double()

    def is_wrong(tokens):
        pattern = torch.tensor([1, 1, 1, 1, 1, 1, 0])
        if tokens.shape[2] < 7:
            return torch.zeros(tokens.shape[:2], dtype=torch.int64)
        return (tokens.unfold(2, 7, 1) == pattern).all(dim=3).any(dim=2).long()

    for step in range(8):
        hard.search(scores, torch.tensor(step))
    found = {tokens for tokens, _ in content(hard, 0, 9)}
    every = torch.cartesian_prod(*[torch.tensor([0, 1])] * 9)
    wrong = {tuple(word) for word in every[is_wrong(every[None])[0].bool()].tolist()}
    assert len(wrong) == 12
    assert wrong <= found
    labels = Counter(label for _, label in content(hard, 0, 9))
    assert labels == {0: POOL_SIZE // 2, 1: POOL_SIZE // 2}
    assert len(found) == POOL_SIZE  # none twice, as there are 512
    assert set(content(hard, 0, 2)) == {((0, 0), 1), ((0, 1), 0), ((1, 0), 0), ((1, 1), 1)}


def test_a_share_of_every_batch_comes_from_the_pool():
    hard = pools(["parity_check", "modular_arithmetic"], share=0.25)
    hard.tokens[0], hard.labels[0] = 7, 3
    batch = hard.draws.words(Stream.TOKENS, torch.tensor(0), batch_size=16, length=8)
    mixed = hard.mix(batch, torch.tensor(0), 8)
    is_hard = (mixed.tokens[0] == 7).all(dim=1)
    assert is_hard.nonzero().flatten().tolist() == [0, 4, 8, 12]
    assert torch.equal(mixed.labels[0] == 3, is_hard)
    assert torch.equal(mixed.tokens[:, ~is_hard], batch.tokens[:, ~is_hard])
    assert torch.equal(mixed.lengths, batch.lengths)
    assert not torch.equal(
        mixed.tokens[1, is_hard], hard.mix(batch, torch.tensor(1), 8).tokens[1, is_hard]
    )


def take(fleet, begin, end):
    for first in range(begin, end, 10):
        for shape in fleet.plan(first, min(end, first + 10)):
            fleet.step(*shape)


def test_a_member_is_alone_what_it_is_in_a_fleet(monkeypatch):
    """Of several tasks, one with shorter words; weights and pools, after three searches."""
    monkeypatch.setattr("ldru.training.fleet.SEARCH_EVERY", 10)
    kinds = [("dyck_2", 0), ("dyck_2", 1), ("modular_arithmetic", 2), ("parity_check", 0)]
    together = Fleet([member(*kind) for kind in kinds])
    take(together, 0, 30)
    some = together.select([2, 3])
    take(some, 30, 35)
    for index, kind in enumerate(kinds):
        alone = Fleet([member(*kind)])
        take(alone, 0, 30)
        for name, tensor in alone.weights(0).items():
            torch.testing.assert_close(together.weights(index)[name], tensor, rtol=0, atol=1e-8)
        longest = alone.hard_words.longest
        pool = together.hard_words.tokens[index, ..., :longest]
        assert torch.equal(pool, alone.hard_words.tokens[0])
        if index >= 2:
            take(alone, 30, 35)
            for name, tensor in alone.weights(0).items():
                torch.testing.assert_close(some.weights(index - 2)[name], tensor, rtol=0, atol=1e-8)


def test_a_stopped_training_goes_on_to_the_same_bits(tmp_path, monkeypatch):
    """Stopped between two searches, so that the pools have to be kept."""
    monkeypatch.setattr("ldru.training.fleet.SEARCH_EVERY", 20)

    class Stop:
        def on_steps(self, step, losses):
            if step == 50:
                raise KeyboardInterrupt

        def on_log(self, entries):
            pass

    arguments = {"model": LDRUSpec(dim=4, leaf_block=True), "settings": SETTINGS, "seeds": (0, 1)}
    with pytest.raises(KeyboardInterrupt):
        ldru.train("dyck_2", out=tmp_path, checkpoint_seconds=0.0, observers=[Stop()], **arguments)
    resumed = ldru.train("dyck_2", out=tmp_path, resume=True, **arguments)
    fresh = ldru.train("dyck_2", **arguments)
    for seed in (0, 1):
        for name, tensor in fresh[seed].model.state_dict().items():
            assert torch.equal(tensor, resumed[seed].model.state_dict()[name])


def test_dropout_rises_to_the_rate_of_the_model():
    fleet = Fleet([member(), member(seed=1, steps=120)])
    for step, shares in ((0, (0, 0)), (15, (0.5, 0.25)), (30, (1, 0.5)), (59, (1, 59 / 60))):
        fleet.step_number.fill_(step)
        buffers = fleet.random_buffers(3)
        for row, share in enumerate(shares):
            cut = int(buffers["encoder.dropout.cut"][row])
            assert (cut + 2**31) / 2**32 == pytest.approx(0.2 * share, abs=1e-9)
            scale = buffers["encoder.dropout.scale"][row].item()
            assert scale == pytest.approx(1 / (1 - 0.2 * share))


def test_bad_settings_are_one_clear_error():
    with pytest.raises(ldru.LdruError, match=r"hard_words is a share of each batch in \[0, 1\]"):
        replace(SETTINGS, hard_words=1.5).check()
    with pytest.raises(ldru.LdruError, match=r"dropout_rise is a share of the steps"):
        replace(SETTINGS, dropout_rise=-0.5).check()


def test_a_data_set_has_no_hard_words():
    words = ldru.WordSet.of([[0, 1], [1]], [0, 1])
    task = ldru.DataTask.of("mine", {"train": words, "validation": words})
    with pytest.raises(ldru.LdruError, match=r"'mine' is a data set.*hard_words=0"):
        ldru.train(task, model=LDRUSpec(dim=4), settings=replace(SETTINGS, random_trees=0.0))
