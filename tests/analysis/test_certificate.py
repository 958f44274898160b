"""Proofs about networks: they hold for what the network does, and not for another network."""

import copy
import io
import json
from contextlib import redirect_stdout
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from tools.check_certificate import check

import ldru
from ldru.analysis.certificate import weights_digest
from ldru.analysis.extraction import Extraction
from ldru.cli import main

pytestmark = pytest.mark.usefixtures("few_words", "few_entries")


@pytest.fixture(scope="module")
def found(few_words) -> Extraction:
    run = ldru.Run.open("parity_check")
    return ldru.extract(run.model, run.task, tolerances=[0.5])


@pytest.fixture(scope="module")
def certified(tmp_path_factory, few_words, few_entries) -> tuple[Path, str]:
    """The run that the command makes, whose network most tests are of, and what it prints."""
    out, printed = tmp_path_factory.mktemp("runs"), io.StringIO()
    with redirect_stdout(printed), pytest.raises(SystemExit, match="0"):
        main(["certify", "parity_check", "--steps", "300", "--out", str(out)])
    (folder,) = out.iterdir()
    return folder, printed.getvalue()


@pytest.fixture(scope="module")
def model(certified):
    folder, _ = certified
    return ldru.Run.open(folder).model


@pytest.fixture(scope="module")
def certificate(model, found):
    return ldru.certify(model, found)


def arrays(model):
    return {name: tensor.numpy() for name, tensor in model.state_dict().items()}


def test_a_consolidated_network_is_certified(model, certificate):
    assert certificate.is_certified
    assert 0 < certificate.margin < 1
    certificate.check(model, "parity_check")
    assert certificate.summary.startswith("certified at every length: all nodes lie within 0.0")


def test_every_node_of_long_words_lies_in_the_ball_of_its_state(model, certificate):
    words = np.random.default_rng(0).integers(2, size=(4, 3001))
    with torch.no_grad():
        levels = model.levels(torch.from_numpy(words))
    states = list(certificate.algebra.levels(words))
    for level, numbers in zip(levels, states, strict=True):
        points = certificate.points[torch.from_numpy(numbers).long()]
        distance = (level.nodes.double() - points).norm(dim=-1)
        assert distance.max() <= certificate.farthest
    assert len(levels) == 13


def test_another_program_finds_the_same_bounds(model, certificate):
    distance, lead = check(arrays(model), certificate.to_json())
    assert distance == pytest.approx(certificate.farthest, rel=0.05)
    assert lead == pytest.approx(certificate.lead, rel=1e-3)


def test_one_weight_changed_by_a_hundredth_is_another_network(model, certificate):
    changed = copy.deepcopy(model)
    with torch.no_grad():
        changed.encoder.operator.hidden.weight[3, 5] *= 1.01
    with pytest.raises(ldru.LdruError, match="of other weights"):
        certificate.check(changed, "parity_check")


def test_bounds_are_computed_again_and_not_believed(model, certificate):
    changed = copy.deepcopy(model)
    with torch.no_grad():
        changed.encoder.block.down.weight.mul_(4.0)
    forged = replace(certificate, weights=weights_digest(changed))
    with pytest.raises(ldru.LdruError, match="does not hold: not certified: nodes within"):
        forged.check(changed, "parity_check")
    distance, _ = check(arrays(changed), forged.to_json())
    assert distance > certificate.radius
    with torch.no_grad():
        changed = copy.deepcopy(model)
        changed.head.weight.mul_(-1)
    forged = replace(certificate, weights=weights_digest(changed))
    with pytest.raises(ldru.LdruError, match="labels may fall behind"):
        forged.check(changed, "parity_check")


def test_tables_are_judged_by_the_task(model, certificate):
    with pytest.raises(ldru.LdruError, match="not right on every word of tomita_7"):
        certificate.check(model, "tomita_7")
    for tables in ("pair", "carry", "answer", "leaf"):
        wrong = getattr(certificate.algebra, tables).copy()
        wrong.flat[0] = 1 - wrong.flat[0]
        forged = replace(certificate, algebra=replace(certificate.algebra, **{tables: wrong}))
        with pytest.raises(ldru.LdruError, match="the certificate"):
            forged.check(model, "parity_check")


@pytest.mark.parametrize(
    "change",
    [
        {"radius": 1e-4},
        {"radius": 5.0},
        {"radius": float("inf")},
        {"radius": float("nan")},
        {"radius": -1.0},
        {"points": torch.zeros(2, 64, dtype=torch.double)},
        {"points": torch.zeros(3, 64, dtype=torch.double)},
        {"points": torch.full((2, 64), torch.nan, dtype=torch.double)},
    ],
    ids=str,
)
def test_other_balls_are_no_proof(model, certificate, change):
    with pytest.raises(ldru.LdruError, match="certificate"):
        replace(certificate, **change).check(model, "parity_check")


def test_a_network_as_trained_is_not_certified(found):
    certificate = ldru.certify(ldru.load("parity_check"), found)
    assert not certificate.is_certified
    assert certificate.summary.startswith("not certified: nodes within")


def test_what_has_no_bounds_is_an_error(model, found):
    with pytest.raises(ldru.LdruError, match="computations in float32"):
        ldru.certify(copy.deepcopy(model).double(), found)
    gelu = ldru.LDRUClassifier(vocab_size=2, num_classes=2, activation="gelu").eval()
    with pytest.raises(ldru.LdruError, match=r"MLP operator with ReLU alone.* gelu"):
        ldru.certify(gelu, found)
    with pytest.raises(ldru.LdruError, match="only an LDRU"):
        ldru.certify(torch.nn.Linear(2, 2), found)
    wrong = ldru.LDRUClassifier(vocab_size=2, num_classes=2, dim=16).eval()
    judged = ldru.extract(wrong, "parity_check", tolerances=[0.5])
    with pytest.raises(ldru.LdruError, match="nothing to certify"):
        ldru.certify(wrong, judged)
    with pytest.raises(ldru.LdruError, match="steps must be at least 1"):
        ldru.consolidate(model, found, steps=0)


def test_files(certificate, model, tmp_path):
    path = tmp_path / "certificate.json"
    certificate.save(path)
    ldru.Certificate.load(path).check(model, "parity_check")
    with pytest.raises(ldru.LdruError, match="not overwritten"):
        certificate.save(path)
    for text in ("", "[]", "{}", '{"algebra": 3}', '{"algebra": {"leaf": "x"}}'):
        path.write_text(text)
        with pytest.raises(ldru.LdruError, match="certificate"):
            ldru.Certificate.load(path)


def test_the_command_makes_a_run_and_checks_it(certified, capsys):
    def call(*arguments):
        with pytest.raises(SystemExit) as left:
            main([*map(str, arguments)])
        return left.value.code, *capsys.readouterr()

    folder, printed = certified
    assert "certified at every length" in printed
    assert str(folder) in printed
    run = ldru.Run.open(folder)
    assert run.spec.consolidated == 300
    assert run.record.final.accuracy == 1
    assert run.spec.init_from == ldru.Run.open("parity_check").spec.digest
    code, printed, _ = call("certify", folder, "--json")
    assert code == 0
    assert json.loads(printed)["note"].endswith("holds")
    code, _, problem = call("certify", "parity_check", "--steps", 1, "--rounds", 3)
    assert code == 1
    assert "after 7 steps of consolidation" in problem  # each round takes twice as many
    assert "more with --rounds or --steps" in problem
