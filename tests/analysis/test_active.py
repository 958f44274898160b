"""Machines that are learned from answers alone."""

import numpy as np
import pytest

import ldru


@pytest.mark.parametrize("count", [40, pytest.param(200, marks=pytest.mark.slow)])
def test_random_machines(count):
    """Every one is learned exactly; the empty word alone is not known."""
    rng = np.random.default_rng(0)
    for seed in range(count):
        states, symbols = int(rng.integers(2, 9)), int(rng.integers(2, 4))
        machine = ldru.as_machine(f"random_{states}_{symbols}_{seed}")
        found = ldru.learn_machine(machine.run, machine, words=1500, longest=20)
        assert found.is_complete
        assert found.difference is None
        assert found.machine.num_states <= states + 1


def test_a_shipped_model():
    run = ldru.Run.open("parity_check")
    found = ldru.learn_machine(run.model, run.language, words=3000)
    assert found.machine.is_equivalent(run.language.machine)
    assert "no proof" in found.summary
    assert "the machine is the task's own" in found.summary
    assert 0 < found.error_bound < 0.01
    assert found.to_json()["states"] == 2


def test_the_shortest_difference_from_the_task():
    wrong = ldru.as_machine("dyck_3")
    found = ldru.learn_machine(wrong.run, "dyck_2", words=3000)
    assert wrong.decode(found.difference) == "000111"
    assert "wrong from length 6 on, 000111" in found.summary


def test_what_no_machine_answers_is_said_so():
    """As many ones as zeros; the states never end."""

    def balanced(words):
        return (2 * words.sum(axis=1) == words.shape[1]).astype(int)

    found = ldru.learn_machine(balanced, alphabet="01", max_states=12, words=2000)
    assert not found.is_complete
    assert found.error_bound is None
    assert found.wrong_words > 0
    assert "no machine of few states" in found.summary
    with pytest.raises(ldru.LdruError, match="no machine was given"):
        _ = found.difference


def test_words_outside_the_domain_do_not_count():
    machine = ldru.as_machine("mod_arithmetic_2")
    found = ldru.learn_machine(lambda words: np.maximum(machine.run(words), 0), machine, words=2000)
    assert found.difference is None


def test_bad_input():
    with pytest.raises(ldru.LdruError, match="or an alphabet"):
        ldru.learn_machine(lambda words: words[:, 0])
    with pytest.raises(ldru.LdruError, match="at least 1"):
        ldru.learn_machine(lambda words: words[:, 0], alphabet="01", words=0)
