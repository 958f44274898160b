"""Files of a run that somebody else made, or that a disk has damaged."""

import json
import random
import shutil

import pytest
import torch

import ldru
from ldru.base.safetensors import load_tensors, save_tensors
from ldru.runs.folder import LOG, PARTS, RECORD, SETTINGS, WEIGHTS, RunFolder
from tests.outcome import outcome

SMALL = ldru.TrainSpec(batch_size=4, validation_words=4, validation_length=8, validate_every=2)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("runs")
    runs = ldru.train(
        "parity_check", model=ldru.LDRUSpec(dim=2), steps=6, settings=SMALL, out=place
    )
    runs[0].with_evaluation(runs[0].compute_evaluation([3, 40], words=8))
    return runs[0].folder


@pytest.fixture
def copy(folder, tmp_path):
    return RunFolder(shutil.copytree(folder, tmp_path / folder.name))


def read_all(files):
    return files.spec(), files.record(), files.log(), files.weights()


@pytest.mark.parametrize("part", PARTS)
def test_flipped_bits_are_one_error_or_another_value(part, copy):
    """Weights have a checksum: there, nothing else than what was written is ever read."""
    whole, known = (copy.path / part).read_bytes(), copy.weights()
    draw = random.Random(0)
    for place in sorted(draw.sample(range(len(whole)), min(200, len(whole)))):
        broken = bytearray(whole)
        broken[place] ^= 1 << draw.randrange(8)
        (copy.path / part).write_bytes(broken)
        found, problem = outcome(read_all, copy)
        if found is None:
            assert copy.place in problem
        else:
            assert all(torch.equal(found[-1][name], known[name]) for name in known)


def test_any_json_in_a_field_is_one_error_that_names_file_and_field(copy):
    odd = [None, True, -1, 2**70, 1.5, float("nan"), "", "x" * 1000, [], [[1]], {}, {"a": 1}]
    for part in (SETTINGS, RECORD):
        known = json.loads((copy.path / part).read_text())
        places = [(known, field) for field in known]
        places += [(known[f], g) for f in known if isinstance(known[f], dict) for g in known[f]]
        for outer, field in places:
            before = outer[field]
            for value in odd:
                outer[field] = value
                (copy.path / part).write_text(json.dumps(known))
                found, problem = outcome(read_all, copy)
                if found is None:
                    assert copy.place in problem
                    assert len(problem) < 1000
                else:
                    spec, record, *_ = found
                    repr((spec, record, spec.name, record.evaluation and record.evaluation.rows()))
            outer[field] = before
        (copy.path / part).write_text(json.dumps(known))


def test_logs_keep_numbers_that_are_none(copy):
    """A validation far beyond the training lengths may overflow."""
    lines = (copy.path / LOG).read_text().splitlines()
    entry = {**json.loads(lines[0]), "validation_loss": float("nan")}
    (copy.path / LOG).write_text(json.dumps(entry) + "\n")
    assert copy.log()[0].validation_loss != copy.log()[0].validation_loss


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_weights_that_are_not_finite_answer_nothing_but_the_record_stays(value, copy):
    weights, metadata = load_tensors(copy.path / WEIGHTS)
    next(iter(weights.values())).view(-1)[0] = value
    save_tensors(copy.path / WEIGHTS, weights, metadata)
    with pytest.raises(ldru.LdruError, match=r"weights\.safetensors' are not finite"):
        ldru.Run.open(copy.path)
    assert len(ldru.list_runs(copy.path.parent).rows()) == 1


def test_weights_of_another_shape_are_named_before_a_model_is_built(copy):
    weights, metadata = load_tensors(copy.path / WEIGHTS)
    name = next(iter(weights))
    save_tensors(copy.path / WEIGHTS, {**weights, name: weights[name][:1]}, metadata)
    with pytest.raises(ldru.LdruError, match=f"{name} is .*expected is numbers"):
        ldru.Run.open(copy.path)
    save_tensors(copy.path / WEIGHTS, {**weights, "more": weights[name]}, metadata)
    with pytest.raises(ldru.LdruError, match=r"more is .*expected is nothing"):
        ldru.Run.open(copy.path)


def test_a_folder_in_the_place_of_a_file_is_one_error(copy):
    for part in PARTS:
        content = (copy.path / part).read_bytes()
        (copy.path / part).unlink()
        (copy.path / part).mkdir()
        with pytest.raises(ldru.LdruError, match=f"{part}': it is a folder"):
            ldru.Run.open(copy.path)
        (copy.path / part).rmdir()
        (copy.path / part).write_bytes(content)
