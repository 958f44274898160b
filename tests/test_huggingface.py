"""The LDRU in transformers: the same numbers as alone, in every way it is used there."""

import importlib
import json
import sys
from dataclasses import replace

import pytest
import torch

import ldru
from ldru.base.errors import LdruError
from ldru.paper.settings import default_model, default_training
from ldru.tasks.text import TEXT_SETS, prepare
from tests.cli.calling import call

transformers = pytest.importorskip("transformers")

from ldru import huggingface as hf  # noqa: E402  (needs transformers)
from ldru.huggingface.exporting import tokeniser  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")


def test_without_transformers_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "transformers", None)
    monkeypatch.delitem(sys.modules, "ldru.huggingface.models")
    with pytest.raises(ldru.LdruError, match=r"'transformers'.*ldru\[text\]"):
        importlib.import_module("ldru.huggingface.models")


@pytest.fixture(autouse=True)
def offline(monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


@pytest.fixture
def run(small_texts, tmp_path):
    prepare("sst2", data=small_texts)
    task = ldru.task("sst2")
    model = replace(default_model(task.spec, "ldru"), dim=8)
    settings = replace(default_training(task, model), batch_size=4)
    trained = ldru.train(task, model=model, steps=3, settings=settings, out=tmp_path / "runs")[0]
    return trained.with_evaluation(trained.compute_evaluation())


@pytest.fixture
def exported(run, tmp_path):
    hf.export(run, tmp_path / "model")
    return tmp_path / "model"


def small_model(**changes):
    config = hf.LDRUConfig(vocab_size=11, dim=6, num_labels=3, **changes)
    return hf.LDRUForSequenceClassification(config).double().eval()


@pytest.mark.parametrize(
    "wrong", [{"num_labels": 1}, {"num_labels": 3, "problem_type": "regression"}]
)
def test_other_problems_than_telling_classes_apart_are_refused(wrong):
    with pytest.raises(LdruError, match="two or more classes"):
        hf.LDRUForSequenceClassification(hf.LDRUConfig(vocab_size=11, dim=6, **wrong))


def test_the_tokeniser_removes_what_training_texts_have_lost(run):
    cut, whole = (tokeniser(TEXT_SETS[name]) for name in ("mnli_subset", "mnli"))
    assert cut("the film.").input_ids == whole("the film").input_ids
    assert cut("the film.").input_ids != whole("the film.").input_ids


def test_weights_start_as_the_papers():
    torch.manual_seed(0)
    model = hf.LDRUForSequenceClassification(hf.LDRUConfig(vocab_size=4000, dim=16))
    state = model.state_dict()
    assert torch.equal(state["ldru.encoder.operator.out.weight"], torch.eye(16)), list(state)
    assert float(state["ldru.embedding.weight"].std()) == pytest.approx(0.02, rel=0.05)
    assert not state["head.bias"].any()


@pytest.mark.parametrize("wanted", ["output_attentions", "output_hidden_states"])
def test_what_an_ldru_has_not_is_refused(wanted):
    model, tokens = small_model(), torch.tensor([[1, 2, 3]])
    assert model(tokens, **{wanted: False}).logits.shape == model(tokens).logits.shape
    with pytest.raises(ldru.LdruError, match="no attentions"):
        model(tokens, **{wanted: True})


def test_a_round_trip_changes_nothing(tmp_path):
    model = small_model(associativity=0.25, leaf_block=True)
    model.save_pretrained(tmp_path / "model")
    again = hf.LDRUForSequenceClassification.from_pretrained(
        tmp_path / "model", dtype=torch.float64
    )
    auto = transformers.AutoModelForSequenceClassification.from_pretrained(
        tmp_path / "model", dtype=torch.float64
    )
    for loaded in (again, auto):
        assert type(loaded) is hf.LDRUForSequenceClassification
        assert loaded.config.to_dict() == {**model.config.to_dict(), **loaded.config.to_dict()}
        assert loaded.config.associativity == 0.25
        ours, theirs = model.state_dict(), loaded.state_dict()
        assert list(ours) == list(theirs)
        assert all(torch.equal(ours[name], theirs[name]) for name in ours)
    base = transformers.AutoModel.from_pretrained(tmp_path / "model", dtype=torch.float64)
    assert type(base) is hf.LDRUModel
    tokens = torch.randint(11, (2, 5))
    assert torch.equal(base(tokens).pooler_output, model.ldru(tokens).pooler_output)


def test_padding_on_either_side_and_in_between_changes_nothing():
    model = small_model()
    words = [torch.randint(1, 11, (length,)) for length in (1, 2, 5, 8)]
    alone = torch.cat([model(word[None]).logits for word in words])
    width = 10
    generator = torch.Generator().manual_seed(0)
    for side in ("right", "left", "between"):
        tokens = torch.randint(11, (4, width), generator=generator)  # padding may hold anything
        mask = torch.zeros(4, width, dtype=torch.int64)
        for row, word in enumerate(words):
            places = {
                "right": torch.arange(len(word)),
                "left": torch.arange(width - len(word), width),
                "between": torch.randperm(width, generator=generator)[: len(word)].sort().values,
            }[side]
            tokens[row, places], mask[row, places] = word, 1
        padded = model(tokens, mask)
        torch.testing.assert_close(padded.logits, alone, rtol=0, atol=1e-12)
        vectors = model.ldru.embedding(tokens).detach().requires_grad_()
        scores = model(inputs_embeds=vectors, attention_mask=mask).logits
        torch.testing.assert_close(scores, alone, rtol=0, atol=1e-12)
        (gradient,) = torch.autograd.grad(scores.square().sum(), vectors)
        assert not gradient[mask == 0].any()
    with pytest.raises(ldru.LdruError, match="empty word"):
        model(tokens, torch.zeros_like(mask))
    with pytest.raises(ldru.LdruError, match="one of them"):
        model(tokens, inputs_embeds=vectors)
    for wrong in (mask[:1], mask[:, :3], torch.ones(4, width + 2)):
        with pytest.raises(ldru.LdruError, match=r"expected \[4, 10\], got"):
            model(tokens, wrong)


def test_settings_that_no_model_can_have_are_refused():
    for wrong, message in (
        ({"associativity": -1}, "not be negative"),
        ({"vocab_size": 0}, "vocab"),
    ):
        with pytest.raises(ldru.LdruError, match=message):
            hf.LDRUModel(hf.LDRUConfig(**{"vocab_size": 11, "dim": 6, **wrong}))


def test_the_associativity_loss_keeps_within_the_range_of_float16():
    model = small_model(associativity=0.5, dropout=0.0).float().train()
    with torch.no_grad():
        for name, parameter in model.ldru.encoder.operator.named_parameters():
            parameter *= 300 if name in ("left.weight", "right.weight") else 1
    tokens, labels = torch.randint(11, (4, 6)), torch.tensor([0, 1, 2, 0])
    want = model(tokens, labels=labels).loss
    with torch.autocast("cpu", torch.float16):
        found = model(tokens, labels=labels).loss
    torch.testing.assert_close(found, want, rtol=1e-2, atol=1e-2)
    with pytest.raises(ldru.LdruError, match="range of float16: take bfloat16"):
        model.half()(tokens, labels=labels)


def test_loss_is_cross_entropy_and_the_weighed_associativity():
    model = small_model(associativity=0.5, dropout=0.0)
    tokens, labels = torch.randint(11, (4, 6)), torch.tensor([0, 1, 2, 0])
    scores = model(tokens).logits
    want = torch.nn.functional.cross_entropy(scores, labels)
    torch.testing.assert_close(model(tokens, labels=labels).loss, want)
    model.train()
    _, lost = model.ldru.encoder.forward_with_associativity(model.ldru.embedding(tokens))
    torch.testing.assert_close(model(tokens, labels=labels).loss, want + 0.5 * lost.mean())


def test_an_exported_run_answers_as_the_run(run, exported):
    texts = ["a gripping film", "dull", "the film is good " * 30]
    want = run.predict(texts)
    ask = transformers.pipeline("text-classification", model=str(exported), device="cpu")
    found = ask(texts, batch_size=2, truncation=True)
    assert [answer["label"] for answer in found] == [answer.name for answer in want]
    for one, other in zip(found, want, strict=True):
        assert one["score"] == pytest.approx(other.probability, abs=1e-5)
    tokens = transformers.AutoTokenizer.from_pretrained(exported)
    for text in texts:
        assert tokens(text, truncation=True)["input_ids"] == run.task.encode(text).tolist()
    tokens.padding_side = "left"
    batch = tokens(texts, truncation=True, padding=True, return_tensors="pt")
    model = transformers.AutoModelForSequenceClassification.from_pretrained(exported)
    shares = model(**batch).logits.detach().softmax(dim=-1)
    for row, answer in zip(shares, want, strict=True):
        assert float(row[answer.label]) == pytest.approx(answer.probability, abs=1e-5)


def test_the_card_says_what_the_record_says(run, exported):
    card = (exported / "README.md").read_text()
    assert card.startswith("---\nlibrary_name: transformers\npipeline_tag: text-classification\n")
    assert f"{run.evaluate()['dev']:.4f}" in card
    assert run.spec.name in card
    assert "SUBSET" not in card
    assert run.record.data in card
    with pytest.raises(ldru.LdruError, match="not overwritten"):
        hf.export(run, exported)


def test_the_card_of_a_subset_says_so(run):
    subset = replace(run, task=ldru.task("mnli_subset"))
    card = hf.model_card(replace(subset, record=replace(run.record, evaluation=None)), name="x")
    assert "**Trained on a SUBSET of mnli**" in card
    assert "without the character '.'" in card


def test_other_models_and_regular_tasks(tmp_path, monkeypatch):
    settings = ldru.TrainSpec(batch_size=4, validation_words=4, validation_length=8)
    options = {"steps": 1, "settings": settings}
    other = ldru.train("parity_check", model=ldru.MODELS["rnn"](dim=4), **options)[0]
    with pytest.raises(ldru.LdruError, match="is none"):
        hf.export(other, tmp_path / "rnn")
    for leaf_block, gates in ((False, "centred"), (True, "open")):
        spec, folder = ldru.LDRUSpec(dim=4, leaf_block=leaf_block, gates=gates), tmp_path / gates
        parity = ldru.train("parity_check", model=spec, **options)[0]
        hf.export(parity, folder)
        model = hf.LDRUForSequenceClassification.from_pretrained(folder)
        tokens = torch.tensor([[0, 1, 1]])
        torch.testing.assert_close(model(tokens).logits, parity.model(tokens))
        fresh = hf.LDRUModel(model.config).encoder.operator.gates
        assert (fresh.bias == (gates == "open")).all()


@pytest.mark.parametrize("name", ["parity_check", "cycle_navigation"])
def test_a_pipeline_answers_words_of_a_language(name, tmp_path):
    """As typed: one word, and several of unlike lengths in one padded batch."""
    run = ldru.Run.open(name)
    hf.export(run, tmp_path / "model")
    card = (tmp_path / "model" / "README.md").read_text()
    ask = transformers.pipeline("text-classification", model=str(tmp_path / "model"))
    symbols = run.task.machine.alphabet
    words = ["".join((symbols * 4)[:length]) for length in (1, 2, 4, 5, 8)]
    answers = [answer["label"] for answer in ask(words, batch_size=5)]
    assert answers == [str(answer.label) for answer in run.predict(words)]
    assert ask(words[2])[0]["label"] == answers[2]
    assert f'print(ask("{symbols[0]}{symbols[-1]}"))' in card
    with pytest.raises(Exception, match="UNK"):
        ask("x")


def test_symbols_of_several_characters_are_separated_by_blanks():
    tokens = hf.exporting.symbol_tokeniser(["up", "down", "u"])
    assert tokens("down up  u")["input_ids"] == [1, 0, 2]


def test_saving_and_loading_by_name_needs_no_network(tmp_path, monkeypatch):
    """What `push_to_hub` uploads is what `save_pretrained` writes; a name in the cache is found."""
    model = small_model()
    model.save_pretrained(tmp_path / "someone" / "mine")
    monkeypatch.chdir(tmp_path)
    again = transformers.AutoModelForSequenceClassification.from_pretrained("someone/mine")
    tokens = torch.tensor([[1, 2, 3]])
    torch.testing.assert_close(again.double()(tokens).logits, model(tokens).logits)
    assert callable(again.push_to_hub)


def test_gradient_checkpointing_keeps_less_and_changes_nothing():
    torch.manual_seed(0)
    model = small_model(dropout=0.3).train()
    tokens, labels = torch.randint(0, 11, (5, 33)), torch.tensor([0, 1, 2, 0, 1])
    mask = (torch.arange(33) < torch.tensor([1, 7, 33, 16, 20])[:, None]).long()
    results = []
    for is_on in (False, True):
        if is_on:
            model.gradient_checkpointing_enable()
            assert model.is_gradient_checkpointing
        kept = Kept()
        torch.manual_seed(1)  # of dropout
        with torch.autograd.graph.saved_tensors_hooks(kept, lambda tensor: tensor):
            loss = model(tokens, attention_mask=mask, labels=labels).loss
        gradients = torch.autograd.grad(loss, list(model.parameters()))
        results.append((kept.numbers, loss, *gradients))
    (much, *plain), (little, *again) = results
    assert little < much / 2
    for got, want in zip(again, plain, strict=True):
        torch.testing.assert_close(got, want, rtol=0, atol=1e-12)


class Kept:
    """How many numbers are kept for the backward pass."""

    numbers = 0

    def __call__(self, tensor):
        self.numbers += tensor.numel()
        return tensor


def test_trainer_learns(exported, tmp_path):
    tokens = transformers.AutoTokenizer.from_pretrained(exported)
    texts = [("a gripping film", 1), ("dull", 0), ("good play", 1), ("a bad old play", 0)] * 8
    rows = [{**tokens(text), "labels": label} for text, label in texts]
    model = transformers.AutoModelForSequenceClassification.from_pretrained(exported)
    trainer = transformers.Trainer(
        model=model,
        args=transformers.TrainingArguments(
            output_dir=str(tmp_path / "out"),
            per_device_train_batch_size=8,
            num_train_epochs=25,
            learning_rate=1e-2,
            report_to=[],
            save_strategy="no",
            logging_strategy="no",
            disable_tqdm=True,
            use_cpu=True,
        ),
        train_dataset=rows,
        data_collator=transformers.DataCollatorWithPadding(tokens),
    )
    trainer.train()
    answers = trainer.predict(rows).predictions.argmax(axis=-1)
    assert answers.tolist() == [label for _, label in texts]


def test_export_from_the_command_line(run, tmp_path, capsys):
    code, out, err = call(capsys, "export", run.folder, tmp_path / "out", "--json")
    assert code == 0, err
    assert json.loads(out)["folder"] == str(tmp_path / "out")
    assert (tmp_path / "out" / "model.safetensors").is_file()
    code, _, err = call(capsys, "export", run.folder, tmp_path / "out")
    assert code == 2
    assert "not overwritten" in err
