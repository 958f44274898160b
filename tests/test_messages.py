"""Wrong calls as users type them: one clear error each, and what works without ceremony."""

import pytest
import torch

import ldru

MODEL = ldru.load("parity_check")
WORDS = torch.ones(1, 2, 3)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ldru.train(3), r"a task is a name such as 'parity_check' or .*, got 3"),
        (
            lambda: ldru.train("parity_check", steps="many"),
            r"steps must be int \| None, got 'many'",
        ),
        (lambda: ldru.train("parity_check", batch_size=2.5), "batch_size must be int, got 2.5"),
        (lambda: ldru.train("parity_check", decay="cos"), "decay must be .*cosine.*, got 'cos'"),
        (lambda: ldru.train("parity_check", seeds="3"), "a seed is a whole number, got '3'"),
        (lambda: ldru.train("parity_check", seeds=2.5), r"how many, or a list .*, got 2.5"),
        (lambda: ldru.train("parity_check", seeds=True, steps=1), "a list .*, got True"),
        (lambda: ldru.train("parity_check", seeds=[WORDS]), "a seed is a whole number, got tensor"),
        (lambda: ldru.train("parity_check", settings=3), "settings are an ldru.TrainSpec, got 3"),
        (lambda: ldru.train("parity_check", recipe={}, steps=1), "recipe is text, got dict"),
        (lambda: ldru.train("parity_check", observers=3), "observers are a list, got 3"),
        (lambda: ldru.train("parity_check", out="\0"), "'.x00': no file can have such a name"),
        (lambda: ldru.train_many("parity_check"), "tasks are a list, .*, got 'parity_check'"),
        (lambda: ldru.train_many(["dyck_2"], execution=3), "is an ldru.Execution, got 3"),
        (
            lambda: ldru.train_many(["dyck_2"], settings=ldru.TrainSpec(steps="many")),
            r"steps must be int \| None, got 'many'",
        ),
        (lambda: ldru.train_until_proved("dyck_2", rounds="3"), "a whole number, .*, got '3'"),
        (
            lambda: ldru.train("parity_check", model=3),
            "a model is a name such as 'ldru', .*, got 3",
        ),
        (
            lambda: ldru.train("parity_check", l2=1e308, steps=1),
            "l2 must not be .*, nor beyond 1e.30",
        ),
        (
            lambda: ldru.build(ldru.LDRUSpec(dim=2**15), vocab_size=2, num_classes=2),
            "dim of ldru: 32,768 is beyond the limit of 16,384",
        ),
        (lambda: ldru.build(3, vocab_size=2, num_classes=2), "a model is a name .*, got 3"),
        (lambda: ldru.recipe(["paper"]), "name of the recipe is text, got list"),
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
        (lambda: ldru.from_regex("0*", alphabet=["0"]), r"text such as '01', got \['0'\]"),
        (lambda: ldru.from_regex("0*", alphabet={}), r"text such as '01', got \{\}"),
        (lambda: ldru.task(regex="0*", alphabet=2.5), "text such as '01', got 2.5"),
        (lambda: ldru.from_predicate(len, alphabet=3, states=3), "names each symbol once, got 3"),
        (lambda: ldru.from_predicate(len, alphabet="01", states="3"), "one state, got '3'"),
        (lambda: ldru.from_predicate("0*", alphabet="01", states=3), "goes through ldru.from_reg"),
        (lambda: ldru.machine_of("dyck_2", alphabet="01"), "from an Algebra, got str"),
        (lambda: ldru.tree_reduce(torch.add, [1, 2]), "a tensor .*, got list"),
        (lambda: ldru.tree_reduce("add", torch.ones(1, 2, 3)), "such as torch.add, got 'add'"),
        (lambda: ldru.tree_reduce(torch.add, WORDS, finish=2.5), "such as torch.tanh, .*, got 2.5"),
        (lambda: ldru.tree_scan(torch.add, WORDS, finish="x"), "such as torch.tanh, .*, got 'x'"),
        (
            lambda: ldru.tree_levels(torch.add, WORDS, finish={}),
            r"such as torch.tanh, .*, got \{\}",
        ),
        (lambda: ldru.TreeStream(torch.add, (1, 2)), r"such as torch.tanh, .*, got \(1, 2\)"),
        (lambda: ldru.TreeStream("add"), "such as torch.add, got 'add'"),
        (lambda: ldru.TreeStream(torch.add, batch="3"), "at least one word, got a batch of '3'"),
        (lambda: ldru.TreeWord(torch.add, WORDS[0], 3), "such as torch.tanh, .*, got 3"),
        (lambda: ldru.tree_reduce(torch.add, WORDS, trees=3), "ldru.draw_trees makes, got int"),
        (lambda: ldru.LDRU(8)([1, 2]), r"a tensor \[batch, length, 8\], got list"),
    ],
)
def test_wrong_calls_say_what_is_wrong(call, message):
    with pytest.raises(ldru.LdruError, match=message):
        call()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"checkpoint_seconds": "3"}, "checkpoint_seconds is a number such as 30.0, got '3'"),
        ({"checkpoint_seconds": (1, 2)}, r"checkpoint_seconds is a number .*, got \(1, 2\)"),
        ({"checkpoint_seconds": True}, "checkpoint_seconds is a number .*, got True"),
        ({"checkpoint_seconds": float("nan")}, "checkpoint_seconds is a number .*, got nan"),
        ({"checkpoint_seconds": -1}, "checkpoint_seconds is a number .*, got -1"),
        ({"out": 3}, "out is the name of a folder, or None, got 3"),
        ({"resume": "no"}, "resume is True or False, got 'no'"),
        ({"observers": {}}, r"observers are a list, got \{\}"),
        ({"observers": [3]}, "methods on_steps and on_log, 3 lacks on_steps"),
    ],
)
def test_wrong_ways_to_carry_a_training_out_say_so_before_it_begins(given, message):
    with pytest.raises(ldru.LdruError, match=message):
        ldru.Execution(**given)


@pytest.mark.usefixtures("few_words")
def test_a_name_stands_for_its_task_and_text_for_a_word():
    assert ldru.evaluate(MODEL, "parity_check", [10], words=16).accuracy == {10: 1.0}
    assert ldru.extract(MODEL, "parity_check", tolerances=[0.2]).is_correct
    assert ldru.coverage("dyck_2", [10], steps=10, test_length=20)[10].shortest_length == 8
    assert ldru.task("parity_check").machine.run("0110") == 1
    assert ldru.LDRU(8)(torch.zeros(2, 3, 8), [1, 3]).shape == (2, 8)
