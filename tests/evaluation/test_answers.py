"""The loop that asks models."""

import pytest
import torch

import ldru
from ldru.evaluation import answers
from ldru.evaluation.answers import ask
from ldru.tasks.batch import PaddedBatch


def last_token(tokens, lengths=None):
    """Scores that tell the last token of each word, for any leading axes."""
    places = tokens.shape[-1] if lengths is None else lengths
    place = torch.as_tensor(places - 1).expand(tokens.shape[:-1])[..., None]
    return torch.nn.functional.one_hot(tokens.gather(-1, place)[..., 0], 5).double()


@pytest.mark.parametrize("shape", [(7, 4), (3, 7, 4)])
@pytest.mark.parametrize("budget", [1, 9, 40, 1000])
def test_words_are_scored_some_at_a_time_and_come_back_in_order(shape, budget, monkeypatch):
    """Also for the members of a fleet, which count in the budget."""
    monkeypatch.setitem(answers.TOKENS_AT_ONCE, "cpu", budget)
    generator = torch.Generator().manual_seed(0)
    tokens = torch.randint(5, shape, generator=generator)
    lengths = torch.randint(1, 5, shape[:-1], generator=generator)
    sizes = []

    def score(tokens, lengths=None):
        sizes.append(tokens.numel())
        return last_token(tokens, lengths)

    labels = torch.zeros(shape[:-1])
    for given in (None, lengths):
        found = ask(score, PaddedBatch(tokens, labels, given))
        assert torch.equal(found, last_token(tokens, given))
    per_row = tokens.numel() // shape[-2]
    assert max(sizes) <= max(budget, per_row)


def test_nothing_is_kept_for_a_derivative():
    model = ldru.build("ldru", vocab_size=2, num_classes=2).eval()
    tokens = torch.zeros(2, 3, dtype=torch.int64)
    assert not ask(model, PaddedBatch(tokens, torch.zeros(2), None)).requires_grad
