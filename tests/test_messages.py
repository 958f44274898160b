"""Wrong calls as users type them: one clear error each, and what works without ceremony."""

import pytest
import torch

import ldru

MODEL = ldru.load("parity_check")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ldru.train(3), r"a task is a name such as 'parity_check' or .*, got 3"),
        (
            lambda: ldru.train("parity_check", steps="many"),
            r"steps must be int \| None, got 'many'",
        ),
        (lambda: ldru.train("parity_check", batch_size=2.5), "batch_size must be int, got 2.5"),
        (lambda: ldru.train("parity_check", decay="cos"), r"decay must be .*'cosine'.*, got 'cos'"),
        (lambda: ldru.train("parity_check", seeds="3"), "a seed is a whole number, got '3'"),
        (lambda: ldru.task(3), "the name of a task is text, got 3"),
        (lambda: ldru.LDRU("64"), "dim must be a whole number of at least 1, got '64'"),
        (lambda: ldru.extract(MODEL, "sst2"), "'sst2' is a data set and no regular language"),
        (lambda: ldru.evaluate(MODEL, "parity", [5]), "did you mean 'parity_check'"),
        (lambda: ldru.Run.open("parity_check").evaluate(50), r"such as \[50\], got 50"),
        (lambda: ldru.task("dyck_2").machine.run(["01", "10"]), "a machine takes a word as text"),
        (lambda: ldru.task("dyck_2").machine.run(0.5), "tokens .* as whole numbers, got float64"),
        (lambda: ldru.Run.open("parity_check").predict([110]), "given as text, .*, got 110"),
        (lambda: ldru.Run.open(3), "by its folder or by the name of a shipped model, got 3"),
        (lambda: ldru.compare([1]), "by its folder or by the name of a shipped model, got 1"),
        (lambda: ldru.list_runs(3), "the folder that runs were written to, got 3"),
        (lambda: ldru.from_predicate("0*", alphabet="01", states=3), "goes through ldru.from_reg"),
        (lambda: ldru.machine_of("dyck_2", alphabet="01"), "from an Algebra, got str"),
        (lambda: ldru.tree_reduce(torch.add, [1, 2]), "a tensor .*, got list"),
        (lambda: ldru.tree_reduce("add", torch.ones(1, 2, 3)), "such as torch.add, got 'add'"),
        (lambda: ldru.LDRU(8)([1, 2]), r"a tensor \[batch, length, 8\], got list"),
    ],
)
def test_wrong_calls_say_what_is_wrong(call, message):
    with pytest.raises(ldru.LdruError, match=message):
        call()


def test_a_name_stands_for_its_task_and_text_for_a_word():
    assert ldru.evaluate(MODEL, "parity_check", [10], words=16).accuracy == {10: 1.0}
    assert ldru.extract(MODEL, "parity_check", tolerances=[0.2]).is_correct
    assert ldru.coverage("dyck_2", [10], steps=10, test_length=20)[10].shortest_length == 8
    assert ldru.task("parity_check").machine.run("0110") == 1
    assert ldru.LDRU(8)(torch.zeros(2, 3, 8), [1, 3]).shape == (2, 8)
