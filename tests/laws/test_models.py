"""What every architecture must satisfy."""

from dataclasses import replace

import pytest
import torch
from torch.func import functional_call, stack_module_state, vmap

import ldru
from ldru.base.errors import LdruError
from ldru.base.json import from_json, to_json
from ldru.base.randomness import fold, seed_key
from ldru.layers.dropout import Dropout, Keyed, rate_buffers
from ldru.models.registry import MODELS, model_name
from ldru.paper.settings import SIZES, default_model
from ldru.tasks.spec import TaskSpec
from ldru.training.fleet import Fleet
from ldru.training.member import Member
from ldru.training.spec import TrainSpec

# Small versions of large models. One that is not listed is tested in its default size.
SMALL = {
    "ldru": {"dim": 8},
    "rnn": {"dim": 8},
    "lstm": {"dim": 8},
    "gated_deltanet": {"dim": 8, "num_layers": 2, "num_heads": 2, "head_dim": 4, "hidden": 8},
    "transformer_nope": {"dim": 8, "num_heads": 2, "num_blocks": 2, "dropout": 0.1},
    "transformer_alibi": {"dim": 8, "num_heads": 2, "num_blocks": 2},
    "transformer_rope": {"dim": 8, "num_heads": 2, "num_blocks": 2},
    "transformer_sinusoidal": {"dim": 8, "num_heads": 2, "num_blocks": 2},
    "s5": {"dim": 8, "state_dim": 8, "num_blocks": 2},
    "sd_ssm": {"dim": 8, "num_transitions": 3},
    "regular_gpt": {"dim": 8, "num_heads": 2, "dropout": 0.1},
    "bbt_grc": {"embedding_dim": 4, "dim": 8, "dropout": 0.2},
    "rir_grc": {"dim": 8, "chunk_size": 4},
}
SYMBOLS, CLASSES = 5, 3


def small_spec(name):
    return MODELS[name](**SMALL.get(name, {}))


def small(name, seed=0):
    torch.manual_seed(seed)
    model = small_spec(name).build(vocab_size=SYMBOLS, num_classes=CLASSES).double().eval()
    with torch.no_grad():  # away from a special start such as biases of zero
        for parameter in model.parameters():
            parameter += 0.1 * torch.randn_like(parameter)
    return model


def padded_words():
    """Words of several lengths, with padding that is in no vocabulary."""
    lengths = torch.tensor([1, 2, 3, 7, 8, 13, 20])
    tokens = torch.randint(0, SYMBOLS, (len(lengths), 20))
    garbage = tokens.clone()
    for row, length in enumerate(lengths.tolist()):
        garbage[row, length:] = -7 if row % 2 else 10**6
    return tokens, garbage, lengths


def gradients(scores, model):
    return torch.autograd.grad(scores.square().sum(), list(model.parameters()))


@pytest.mark.parametrize("name", MODELS)
def test_law_of_padding(name):
    """Row i equals word i alone, values and gradients, whatever the padding holds."""
    model = small(name)
    tokens, garbage, lengths = padded_words()
    together = model(garbage, lengths)
    alone = torch.cat([model(tokens[i : i + 1, :n]) for i, n in enumerate(lengths.tolist())])
    torch.testing.assert_close(together, alone, rtol=0, atol=1e-12)
    for got, want in zip(gradients(together, model), gradients(alone, model), strict=True):
        torch.testing.assert_close(got, want, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("name", MODELS)
def test_words_of_one_length_need_no_lengths(name):
    model = small(name)
    tokens = torch.randint(0, SYMBOLS, (3, 13))
    torch.testing.assert_close(
        model(tokens), model(tokens, torch.full((3,), 13)), rtol=0, atol=1e-12
    )


@pytest.mark.parametrize("name", MODELS)
def test_lengths_may_be_whole_numbers_of_any_kind(name):
    model = small(name)
    tokens, _, lengths = padded_words()
    assert torch.equal(model(tokens, lengths.int()), model(tokens, lengths))


@pytest.mark.parametrize("name", MODELS)
def test_gradients_are_those_of_finite_differences_and_reach_every_parameter(name):
    model = small(name)
    tokens, _, lengths = padded_words()
    parameters = dict(model.named_parameters())
    direction = {key: torch.randn_like(value) for key, value in parameters.items()}

    def loss(step):
        moved = {key: value + step * direction[key] for key, value in parameters.items()}
        return functional_call(model, moved, (tokens, lengths)).square().sum()

    slopes = torch.autograd.grad(loss(0.0), list(parameters.values()))
    assert all(slope.abs().sum() > 0 for slope in slopes)
    slope = sum((s * d).sum() for s, d in zip(slopes, direction.values(), strict=True))
    with torch.no_grad():  # a step so short that no ReLU changes sides
        difference = (loss(1e-7) - loss(-1e-7)) / 2e-7
    torch.testing.assert_close(difference, slope, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("is_padded", [False, True])
@pytest.mark.parametrize("is_training", [False, True])
def test_mapping_over_members_equals_a_loop(name, is_padded, is_training):
    models = [small(name, seed).train(is_training) for seed in range(3)]
    parameters, _ = stack_module_state(models)
    tokens = torch.randint(0, SYMBOLS, (3, 4, 11))
    lengths = torch.randint(1, 12, (3, 4)) if is_padded else None
    buffers = random_buffers(models[0], members=3, batch=4) if is_training else {}

    def call(parameters, buffers, tokens, lengths):
        return functional_call(models[0], (parameters, buffers), (tokens, lengths))

    axes = (0, 0, 0, 0 if is_padded else None)
    mapped = vmap(call, in_dims=axes)(parameters, buffers, tokens, lengths)
    looped = torch.stack(
        [
            call(
                {key: value[i] for key, value in parameters.items()},
                {key: value[i] for key, value in buffers.items()},
                tokens[i],
                lengths[i] if is_padded else None,
            )
            for i in range(3)
        ]
    )
    torch.testing.assert_close(mapped, looped, rtol=0, atol=1e-12)
    for got, want in zip(
        torch.autograd.grad(mapped.square().sum(), list(parameters.values())),
        torch.autograd.grad(looped.square().sum(), list(parameters.values())),
        strict=True,
    ):
        torch.testing.assert_close(got, want, rtol=1e-9, atol=1e-11)


def random_buffers(model, members, batch):
    """What a fleet gives to the random layers of its members."""
    buffers = {}
    for number, (name, layer) in enumerate(model.named_modules()):
        if isinstance(layer, Keyed):
            keys = seed_key([100 * number + member for member in range(members)])
            buffers[f"{name}.keys"] = fold(keys[:, None], torch.arange(batch))
        if isinstance(layer, Dropout):
            for part, value in rate_buffers(torch.tensor(layer.rate), dtype=torch.double).items():
                buffers[f"{name}.{part}"] = value.expand(members)
    return buffers


@pytest.mark.parametrize("name", MODELS)
def test_a_member_trains_alone_as_in_a_fleet(name):
    """Though its neighbours have more symbols and classes, and words of other lengths."""
    tasks = ("parity_check", "modular_arithmetic", "prefix_2_4")
    settings = TrainSpec(steps=10, learning_rate=1e-3, batch_size=6, precision="float64")
    members = [
        Member(name=t, task=ldru.task(t), build=small_spec(name).build, seed=3, settings=settings)
        for t in tasks
    ]
    together = Fleet(members)
    fleets = [Fleet([member]) for member in members]
    for length in (9, 1, 6):
        losses = together.step(length)
        torch.testing.assert_close(losses, torch.cat([fleet.step(length) for fleet in fleets]))
    for index, fleet in enumerate(fleets):
        for key, weights in fleet.weights(0).items():
            torch.testing.assert_close(together.weights(index)[key], weights, rtol=0, atol=1e-8)


@pytest.mark.parametrize("name", MODELS)
def test_parameters_are_real_and_single_precision_is_enough(name):
    torch.manual_seed(0)
    model = small_spec(name).build(vocab_size=SYMBOLS, num_classes=CLASSES)
    assert all(parameter.dtype == torch.float32 for parameter in model.parameters())
    tokens, garbage, lengths = padded_words()
    scores = model.eval()(garbage, lengths)
    assert scores.dtype == torch.float32
    assert scores.shape == (len(lengths), CLASSES)
    torch.testing.assert_close(scores.double(), model.double()(tokens, lengths), rtol=0, atol=1e-4)


@pytest.mark.parametrize("name", MODELS)
def test_settings_round_trip_and_name_their_model(name):
    specs = [MODELS[name](), small_spec(name)]
    if hasattr(MODELS[name], "listops"):
        specs.append(default_model(TaskSpec(name="listops"), name))
    for spec in specs:
        again = from_json(MODELS[name], to_json(spec))
        assert again == spec
        assert type(again) is MODELS[name]
        assert model_name(again) == name
    assert replace(specs[1]) == specs[1]
    with pytest.raises(LdruError, match="does not know colour"):
        from_json(MODELS[name], {"colour": "red"})


# Where the total is not the paper's, the model's docstring says why.
OTHER_TOTALS = {"ldru": 128_386, "regular_gpt": 790_034}


@pytest.mark.parametrize("name", MODELS)
def test_totals_beside_the_papers(name):
    model = ldru.build(name, vocab_size=2, num_classes=2)
    total = sum(parameter.numel() for parameter in model.parameters())
    assert total == SIZES[name].ours  # what `ldru models` says without building any
    if name in OTHER_TOTALS:
        assert total == OTHER_TOTALS[name]
        assert total != pytest.approx(SIZES[name].paper, rel=0.1)
    else:
        assert total == pytest.approx(SIZES[name].paper, rel=0.025)


@pytest.mark.parametrize("name", MODELS)
def test_wrong_input_is_one_clear_error(name):
    model, tokens = small(name), torch.zeros(2, 3, dtype=torch.long)
    for given, lengths, message in (
        (torch.zeros(2, 0, dtype=torch.long), None, "at least 1"),
        (torch.zeros(3, dtype=torch.long), None, r"tokens \[batch, length\]"),
        (tokens, torch.tensor([0, 3]), "empty word"),
        (tokens, torch.tensor([1, 4]), "padded length 3"),
        (tokens, torch.tensor([1.0, 2.0]), "whole numbers"),
        (tokens, torch.tensor([1]), "one per word"),
    ):
        with pytest.raises(LdruError, match=message):
            model(given, lengths)
    for sizes in ({"vocab_size": 0, "num_classes": 2}, {"vocab_size": 2, "num_classes": 0}):
        with pytest.raises(LdruError, match="at least 1"):
            small_spec(name).build(**sizes)
