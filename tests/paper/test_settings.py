"""The paper's settings by task, and that every model of ListOps takes steps with them."""

from dataclasses import replace

import pytest

import ldru
from ldru.automata import named
from ldru.paper.recipe import settings_by
from ldru.paper.settings import (
    LISTOPS_BY_MODEL,
    completed,
    default_model,
    default_training,
    per_task,
)
from ldru.tasks.spec import TaskSpec

PAPERS = {
    "lstm": 4.3e6,
    "transformer_nope": 1.0e6,
    "transformer_alibi": 1.0e6,
    "transformer_sinusoidal": 1.0e6,
    "bbt_grc": 430e3,
    "rir_grc": 430e3,
}


@pytest.mark.parametrize("name", PAPERS)
def test_sizes_round_to_the_papers(name):
    task = ldru.task("listops_1m")
    model = default_model(task.spec, name).build(vocab_size=15, num_classes=10)
    size = sum(parameter.numel() for parameter in model.parameters())
    assert size == pytest.approx(PAPERS[name], rel=0.01)


def test_the_papers_ldru_has_a_leaf_block_too():
    spec = replace(default_model(ldru.task("listops_1m").spec, "ldru"), leaf_block=True)
    model = spec.build(vocab_size=15, num_classes=10)
    assert sum(parameter.numel() for parameter in model.parameters()) == pytest.approx(
        2.6e6, rel=0.015
    )


@pytest.mark.parametrize("name", LISTOPS_BY_MODEL)
def test_every_model_trains_on_listops(name, small_listops):
    task = ldru.task("listops_40")
    model = replace(default_model(task.spec, name), dim=16)
    settings = replace(default_training(task, model), batch_size=2, validation_words=4)
    run = ldru.train(task, model=model, steps=2, settings=settings)[0]
    assert run.log[-1].step == 2
    assert run.spec.train.learning_rate == LISTOPS_BY_MODEL[name].learning_rate
    assert run.record.data == task.words("train").checksum


def test_what_is_not_given_is_the_papers(small_listops):
    task = ldru.task("listops_40")
    small = ldru.MODELS["bbt_grc"](dim=4, embedding_dim=4)
    run = ldru.train(task, model=small, steps=1)[0]
    train = run.spec.train
    assert (train.learning_rate, train.weight_decay, train.batch_size) == (1e-3, 1e-2, 128)
    given = ldru.TrainSpec(batch_size=2, validation_words=2)
    run = ldru.train(task, model=small, steps=1, settings=given)[0]
    assert (run.spec.train.learning_rate, run.spec.train.batch_size) == (1e-3, 2)
    assert default_training(ldru.task("parity_check"), small) == ldru.TrainSpec()
    assert default_model(ldru.task("parity_check").spec, "ldru") == ldru.LDRUSpec()


def test_an_ldru_has_our_recipe_where_there_is_one_and_all_else_the_papers():
    ours, paper = ldru.recipe("random_trees"), ldru.recipe("paper")
    own = ldru.task(regex="(01)*").spec
    languages = [
        TaskSpec(name=name)
        for name in (*named.PAPERS, *named.OTHERS["groups"], *named.OTHERS["others"])
    ]
    for language in (*languages, own):
        assert settings_by(None, language, "ldru") == (ours.model, ours.train)
        assert settings_by("paper", language, "ldru") == (paper.model, paper.train)
    small = ldru.LDRUSpec(dim=8)  # a model that is given stays as it is
    assert settings_by(None, own, small) == (small, ours.train)
    texts = ldru.recipe("open_gates")
    for task, batch_size in (("sst2", 128), ("ag_news_subset", 32)):
        spec = TaskSpec(name=task)
        model, train = settings_by(None, spec, "ldru")
        assert (model, train) == (texts.model, replace(texts.train, batch_size=batch_size))
        assert settings_by("open_gates", spec, small) == (small, train)
        theirs = (default_model(spec, "ldru"), default_training(task, "ldru"))
        assert settings_by("paper", spec, "ldru") == theirs != (model, train)
        assert completed(ldru.task(task), model, train)[1].steps == per_task(spec).steps
        with pytest.raises(ldru.LdruError, match=f"regular language, not for ldru on {task}"):
            settings_by("random_trees", spec, "ldru")
    with pytest.raises(ldru.LdruError, match="a set of texts, not for ldru on dyck_6: leave it"):
        settings_by("open_gates", TaskSpec(name="dyck_6"), "ldru")
    for task, name in (("dyck_6", "lstm"), ("listops_100k", "ldru"), ("sst2", "rnn")):
        spec = TaskSpec(name=task)
        theirs = (default_model(spec, name), default_training(task, name))
        assert settings_by(None, spec, name) == settings_by("paper", spec, name) == theirs
        with pytest.raises(ldru.LdruError, match=f"not for {name} on {task}: leave it out"):
            settings_by("random_trees", spec, name)
    with pytest.raises(ldru.LdruError, match="did you mean 'random_trees'"):
        ldru.train("dyck_2", recipe="randomtrees", steps=1)
