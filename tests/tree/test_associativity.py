"""The associativity loss against the paper's formula, triple by triple."""

import pytest
import torch

import ldru
from ldru.operators import build_operator
from ldru.tree import associativity_loss, tree_levels


def literal_loss(combine, word, finish=None):
    """Of one word [length, dim], by loops over steps and triples."""
    nodes, steps = list(word), []
    while len(nodes) > 1:
        losses = []
        for a, b, c in zip(nodes, nodes[1:], nodes[2:], strict=False):
            x, y = combine(combine(a, b), c), combine(a, combine(b, c))
            losses.append((1 - x @ y / (x.norm() * y.norm() + 1e-8)) ** 2)
        if losses:
            steps.append(sum(losses) / len(losses))
        pairs = [combine(a, b) for a, b in zip(nodes[::2], nodes[1::2], strict=False)]
        nodes = pairs + nodes[2 * len(pairs) :]
        nodes = nodes if finish is None else [finish(node) for node in nodes]
    return sum(steps) / len(steps) if steps else word.sum() * 0


@pytest.mark.parametrize("operator", ldru.OPERATORS)
def test_the_loss_and_its_gradients_are_the_papers(operator):
    torch.manual_seed(0)
    combine = build_operator(operator, dim=4, activation="silu").double()
    for parameter in combine.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    lengths = torch.tensor([1, 2, 3, 4, 5, 7, 8, 9, 13])
    x = torch.randn(len(lengths), 13, 4, dtype=torch.double, requires_grad=True)
    weights = torch.randn(len(lengths), dtype=torch.double)
    inputs = [x, *combine.parameters()]

    found = associativity_loss(combine, tree_levels(combine, x, lengths, torch.tanh))
    wanted = torch.stack(
        [literal_loss(combine, word[:n], torch.tanh) for word, n in zip(x, lengths, strict=True)]
    )
    torch.testing.assert_close(found, wanted, rtol=1e-12, atol=1e-12)
    assert not found[:2].any()
    assert found[2:].all() or operator == "element_sum"
    gradients = [
        torch.autograd.grad(
            (weights * loss).sum(), inputs, retain_graph=True, materialize_grads=True
        )
        for loss in (found, wanted)
    ]
    for ours, theirs in zip(*gradients, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("junk", [torch.nan, torch.inf])
def test_padding_changes_nothing(junk):
    torch.manual_seed(0)
    combine = build_operator("mlp", dim=4, activation="relu").double()
    x = torch.randn(3, 12, 4, dtype=torch.double)
    for row, length in enumerate((3, 6, 11)):
        x[row, length:] = junk
    x.requires_grad_()
    lengths = torch.tensor([3, 6, 11])
    found = associativity_loss(combine, tree_levels(combine, x, lengths))
    (gradient,) = torch.autograd.grad(found.sum(), x)
    for row, length in enumerate(lengths.tolist()):
        word = x.detach()[row : row + 1, :length].requires_grad_()
        alone = associativity_loss(combine, tree_levels(combine, word))
        torch.testing.assert_close(found[row], alone[0], rtol=1e-12, atol=0)
        (own,) = torch.autograd.grad(alone.sum(), word)
        torch.testing.assert_close(gradient[row, :length], own[0], rtol=1e-10, atol=1e-14)
        assert not gradient[row, length:].any()


def test_an_associative_operator_loses_nothing():
    x = torch.randn(2, 9, 4, dtype=torch.double)
    loss = associativity_loss(torch.add, tree_levels(torch.add, x))
    torch.testing.assert_close(loss, torch.zeros(2, dtype=torch.double), rtol=0, atol=1e-12)


def test_the_classifier_returns_it_beside_its_scores():
    model = ldru.LDRUClassifier(vocab_size=5, num_classes=3, dim=8, leaf_block=True).eval()
    tokens, lengths = torch.randint(5, (4, 10)), torch.tensor([10, 3, 1, 7])
    scores, lost = model.forward_with_associativity(tokens, lengths)
    torch.testing.assert_close(scores, model(tokens, lengths))
    alone = [model.forward_with_associativity(t[None, :n]) for t, n in zip(tokens, lengths)]
    torch.testing.assert_close(lost, torch.cat([loss for _, loss in alone]))
    torch.testing.assert_close(scores, torch.cat([score for score, _ in alone]))
