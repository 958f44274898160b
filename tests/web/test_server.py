"""The playground's server: its answers, its limits, and whom it answers."""

import json
import random
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import ldru
from ldru.base.safetensors import load_tensors
from ldru.web import proofs
from ldru.web.guard import COOKIE
from ldru.web.limits import RequestError
from ldru.web.models import centres_of, sampled_nodes
from ldru.web.server import make_app
from ldru.web.training import checked

testclient = pytest.importorskip("starlette.testclient")
JSON = {"content-type": "application/json"}


@pytest.fixture
def client(tmp_path):
    app = make_app(tmp_path / "runs")
    with testclient.TestClient(app, base_url="http://127.0.0.1:8137") as found:
        yield found


def events(response):
    """The events of an answer: pairs of a kind and its data."""
    parts = [part.split("\n") for part in response.text.strip().split("\n\n")]
    return [(kind.removeprefix("event: "), json.loads(data[6:])) for kind, data in parts]


def test_everything_comes_from_the_package(client):
    page = client.get("/")
    assert page.status_code == 200
    assert "default-src 'none'" in page.headers["content-security-policy"]
    for name in ("", "app.js", "style.css", "views/network.js", "engine/network.js", "icon.svg"):
        found = client.get(f"/{name}")
        assert found.status_code == 200
        assert "://" not in found.text.replace("http://www.w3.org", "")


def test_the_page_is_there_before_pytorch():
    code = "import sys, ldru.web.server; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_start_lists_models_and_languages(client, tmp_path):
    ldru.Run.open("tomita_4").save(tmp_path / "runs" / "mine")
    found = client.get("/api/start").json()
    assert [m["name"] for m in found["models"] if m["kind"] == "run"] == ["mine"]
    assert len([m for m in found["models"] if m["kind"] == "shipped"]) == 21
    assert len(found["languages"]["the paper's"]) == 21
    assert client.get("/api/model", params={"model": "mine"}).status_code == 200
    for group in found["languages"].values():
        for name in group:
            assert client.get("/api/machine", params={"task": name}).status_code == 200, name


@pytest.mark.parametrize("given", [{"task": "dyck_3"}, {"regex": "(ab|ba)*b"}], ids=str)
def test_a_language_is_its_minimal_machine_and_monoid(client, given):
    found = client.get("/api/machine", params=given).json()
    task, rng = ldru.task(given.get("task"), regex=given.get("regex")), random.Random(1)
    monoid = ldru.monoid(task.machine.minimal())
    for _ in range(50):
        tokens = rng.choices(range(len(found["alphabet"])), k=rng.randint(1, 12))
        state, kind = found["start"], 0
        for token in tokens:
            state, kind = found["moves"][state][token], found["monoid"]["step"][kind][token]
        assert found["labels"][state] == int(task.machine.run(np.array(tokens)))
        assert kind == int(monoid.classify(np.array(tokens)))
        assert monoid.classify(found["monoid"]["words"][kind]) == kind
    assert len(found["places"]) == len(found["labels"])


def test_a_large_machine_has_no_picture(client):
    found = client.get("/api/machine", params={"task": "prefix_4_4"}).json()
    assert found["places"] is None
    assert len(found["moves"]) == ldru.task("prefix_4_4").machine.minimal().num_states
    assert client.get("/api/machine", params={"task": "group_Z60"}).json()["places"] is None


def test_weights_are_the_runs_file(client, tmp_path):
    (tmp_path / "w").write_bytes(client.get("/api/weights", params={"model": "dyck_3"}).content)
    tensors, _ = load_tensors(tmp_path / "w")
    for name, value in ldru.load("dyck_3").state_dict().items():
        assert (tensors[name].float() == value).all()


def test_centres_are_the_means_of_sampled_nodes():
    run = ldru.Run.open("tomita_4")
    monoid = ldru.monoid("tomita_4")
    sums, counts = {}, {}
    for vectors, kinds in sampled_nodes(run, monoid):
        for vector, kind in zip(vectors, kinds.tolist(), strict=True):
            sums[kind] = sums.get(kind, 0) + vector.double()
            counts[kind] = counts.get(kind, 0) + 1
    found = centres_of(run)
    assert found.kinds.tolist() == sorted(counts)
    for kind, vector in zip(found.kinds.tolist(), found.vectors, strict=True):
        assert np.allclose(vector, sums[kind] / counts[kind], atol=1e-3)


def test_sampled_nodes_have_their_true_classes():
    run, monoid = ldru.Run.open("dyck_2"), ldru.monoid("dyck_2")
    levels = list(sampled_nodes(run, monoid))[3:6]  # of words of three symbols
    words = run.language.draw_test(3, words=192, seed=2).tokens.numpy()
    spans = [[(0, 1), (1, 2), (2, 3)], [(0, 2), (2, 3)], [(0, 3)]]
    for (_, kinds), parts in zip(levels, spans, strict=True):
        expected = [[int(monoid.classify(word[a:b])) for a, b in parts] for word in words]
        assert kinds.tolist() == np.array(expected).ravel().tolist()


@pytest.mark.usefixtures("few_words")
def test_a_proof_is_told_as_it_goes(client):
    found = events(client.get("/api/proof", params={"model": "parity_check"}))
    assert [kind for kind, _ in found] == ["trial"] * 15 + ["verdict"]
    assert found[-1][1]["summary"] == "correct at every length"
    assert found[-1][1]["wrong"] is None
    for _, trial in found[:-1]:
        assert len(trial["places"]) == min(300, trial["states"])
        assert {label for *_, label in trial["places"]} <= {0, 1}


def test_a_proof_that_takes_too_long_is_ended():
    told = []
    proofs.prove(ldru.Run.open("parity_check"), lambda *event: told.append(event), seconds=-1)
    assert [kind for kind, _ in told] == ["trial", "problem"]
    assert "ldru extract" in told[-1][1]["error"]


def test_one_proof_at_a_time(monkeypatch):
    monkeypatch.setattr(proofs, "_work", lambda run, story: None)  # never over
    shelf, first, second = proofs.Proofs(), object(), object()
    story = shelf.start(first)
    assert shelf.start(first) is story
    with pytest.raises(RequestError, match="another extraction"):
        shelf.start(second)
    story.is_over = True
    assert shelf.start(second) is not story


def test_a_training_is_stopped_and_goes_on(client, tmp_path):
    given = {"regex": "1*", "alphabet": "01", "dim": 4, "steps": 60, "batch_size": 4}
    begun = client.post("/api/training", json={**given, "max_length": 6})
    assert begun.json()["seed"] == 0
    again = client.post("/api/training", json=given)
    assert again.status_code == 400  # one at a time
    assert client.post("/api/training", json={"stop": True}).status_code == 200
    kinds = [kind for kind, _ in events(client.get("/api/training"))]
    assert kinds[0] == "begin"
    if "done" not in kinds:  # it may have been faster, or not yet have begun
        assert client.post("/api/training", json={**given, "max_length": 6}).status_code == 200
        kinds = [kind for kind, _ in events(client.get("/api/training"))]
    assert kinds[-1] == "done"
    (run,) = (p.name for p in (tmp_path / "runs").iterdir() if (p / "settings.json").exists())
    found = client.get("/api/model", params={"model": run}).json()
    assert [length for length, _ in found["points"]][-1] == 500
    assert client.post("/api/training", json={"stop": True}).status_code == 400


@pytest.mark.parametrize(
    ("name", "given", "said"),
    [
        ("machine", {}, "a task's name or a regular expression"),
        ("machine", {"task": "dyck_3", "regex": "a"}, "a task's name or a regular expression"),
        ("machine", {"task": "dyk_3"}, "dyck_3"),
        ("machine", {"task": "x" * 5000}, "5,000 characters"),
        ("machine", {"task": "dyck_9999"}, "up to 2,000"),
        ("machine", {"regex": "(a*){20000}"}, "1,000 copies"),
        ("machine", {"regex": "((a{99}){99}){99}"}, "1,000 copies"),
        ("machine", {"regex": "a" * 300}, "1 to 200 characters"),
        ("machine", {"regex": "(0|1)*1(0|1){12}"}, "up to 2,000"),
        ("model", {}, "no model"),
        ("model", {"model": "../../etc"}, "no model"),
        ("weights", {"model": "/etc/passwd"}, "no model"),
        ("proof", {"model": "..%2f"}, "no model"),
    ],
    ids=str,
)
def test_what_cannot_be_answered_is_one_sentence(client, name, given, said):
    begin = time.monotonic()
    found = client.get(f"/api/{name}", params=given)
    assert found.status_code == 400
    assert said in found.json()["error"]
    assert time.monotonic() - begin < 10  # only a hang takes longer


def test_models_that_have_no_tree(client, tmp_path):
    settings = ldru.TrainSpec(batch_size=4, validation_words=4, validation_length=8)
    ldru.train("parity_check", model="rnn", steps=2, settings=settings, out=tmp_path / "runs")
    (name,) = (p.name for p in (tmp_path / "runs").iterdir())
    found = client.get("/api/model", params={"model": name})
    assert found.status_code == 400
    assert "only an LDRU has a tree" in found.json()["error"]


def test_names_that_are_not_there(client):
    assert client.get("/api/secrets").status_code == 404
    assert client.get("/../server.py").status_code == 404
    assert client.get("/%2e%2e/server.py").status_code == 404
    assert client.post("/api/start").status_code == 405


def test_only_this_machines_names_are_answered(client):
    assert client.get("/api/start", headers={"host": "evil.example"}).status_code == 403
    assert client.get("/", headers={"host": "localhost:8137"}).status_code == 200
    assert client.get("/", headers={"host": "[::1]:8137"}).status_code == 200
    assert client.get("/", headers={"host": ""}).status_code == 403
    begun = client.post("/api/training", json={}, headers={"origin": "http://evil.example"})
    assert begun.status_code == 403
    plain = client.post("/api/training", content="{}", headers={"content-type": "text/plain"})
    assert plain.status_code == 400  # a form of another page cannot send JSON


def test_elsewhere_a_token_is_needed(tmp_path):
    app = make_app(tmp_path, hosts=("cluster",), token="secret")
    with testclient.TestClient(app, base_url="http://cluster:1") as client:
        assert client.get("/").status_code == 403
        refused = client.get("/", params={"token": "secre"})
        assert refused.status_code == 403
        assert "set-cookie" not in refused.headers
        assert client.get("/", params={"token": "secret"}).status_code == 200
        assert client.cookies[COOKIE] == "secret"
        assert client.get("/api/start").status_code == 200


@pytest.mark.parametrize(
    "given",
    [{"dim": 1000}, {"steps": 10**9}, {"steps": True}, {"steps": "5"}, {"seed": -1}, {"task": 3}],
    ids=str,
)
def test_settings_of_a_training_are_bounded(given):
    with pytest.raises(RequestError):
        checked(given)


def test_strange_bodies(client):
    for body in (b"", b"[]", b"{", b"\xff", b"[" * 9000, b" " * 20_000, b'{"task": "nothing"}'):
        assert client.post("/api/training", content=body, headers=JSON).status_code == 400


def test_fifty_at_once(client):
    def ask(number):
        name = ("machine", "model", "start")[number % 3]
        return client.get(f"/api/{name}", params={"task": "dyck_3", "model": "dyck_3"}).status_code

    with ThreadPoolExecutor(50) as pool:
        assert set(pool.map(ask, range(50))) == {200}


TEXTS = ["", "0", "01" * 30, "dyck_3", "parity_check", "(01)*", "((", "[a", "{2}", "a{3", "\\", "é"]
TEXTS += ["\0", "-1", "1e9", "../x", "nan", "~0*", "a&b", "0" * 500, "(a|b){9}", "dyck_0", "a**"]
KEYS = ["task", "regex", "alphabet", "model", "stop", "steps"]


def ask_anything(client, rng):
    """One random request: its status, and what was asked."""
    given = {key: rng.choice(TEXTS) for key in rng.sample(KEYS, rng.randint(0, 3))}
    if rng.random() < 0.1:
        body = rng.choice([json.dumps(given).encode(), rng.randbytes(20), b'{"steps": 0}'])
        kind = rng.choice([JSON, {"content-type": "text/html"}])
        return client.post("/api/training", content=body, headers=kind).status_code, body
    name = rng.choice(["machine", "model", "start", "weights", "nothing", "", "machine/.."])
    return client.get(f"/api/{name}", params=given).status_code, (name, given)


@pytest.mark.parametrize("number", [200, pytest.param(10_000, marks=pytest.mark.slow)])
def test_any_request_is_answered_or_refused(client, number):
    rng = random.Random(number)
    for _ in range(number):
        begin = time.monotonic()
        status, given = ask_anything(client, rng)
        assert 200 <= status < 300 or 400 <= status < 500, given
        assert time.monotonic() - begin < 10, given  # only a hang takes longer
