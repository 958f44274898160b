"""Hold a classifier against a slow reference that scores one word at a time."""

import torch

LENGTHS = (1, 2, 3, 5, 8, 17, 40)


def scrambled(classifier, *, scale=0.3, **settings):
    """A model in double precision, moved away from where its weights start."""
    torch.manual_seed(0)
    model = classifier(**settings).double().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += scale * torch.randn_like(parameter)
    return model


def assert_agrees(model, score_word):
    """Scores and the gradients of all parameters, words alone and padded with anything.

    score_word: weights by name, list of tokens -> scores [classes].
    """
    words = [torch.randint(0, model.vocab_size, (length,)) for length in LENGTHS]
    weights = dict(model.named_parameters())
    wanted = [score_word(weights, word.tolist()) for word in words]
    # A model that does not see its word would agree with a reference that does not either.
    assert (torch.stack(wanted).std(dim=0) > 1e-3).all()
    for word, want in zip(words, wanted, strict=True):
        _assert_same(model, model(word[None])[0], want)
    padded = torch.randint(-(10**6), 10**6, (len(words), max(LENGTHS)))
    for row, word in zip(padded, words, strict=True):
        row[: len(word)] = word
    _assert_same(model, model(padded, torch.tensor(LENGTHS)), torch.stack(wanted))


def _assert_same(model, got, want):
    torch.testing.assert_close(got, want, rtol=0, atol=1e-10)
    parameters = dict(model.named_parameters())
    # A weighted sum, because a symmetric one would not see classes swapped.
    weighting = torch.linspace(1, 2, got.shape[-1], dtype=got.dtype)
    got_gradients, want_gradients = (
        torch.autograd.grad(
            (scores.sin() * weighting).sum(),
            list(parameters.values()),
            retain_graph=True,
            materialize_grads=True,
        )
        for scores in (got, want)
    )
    for name, left, right in zip(parameters, got_gradients, want_gradients, strict=True):
        torch.testing.assert_close(
            left, right, rtol=1e-8, atol=1e-10, msg=lambda text, name=name: f"{name}: {text}"
        )
