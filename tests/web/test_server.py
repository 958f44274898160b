"""The playground's server: its answers, its limits, and whom it answers."""

import json
import random
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch

import ldru
from ldru.web import networks
from ldru.web.jobs import checked
from ldru.web.limits import RequestError
from ldru.web.networks import balanced, bracketed
from ldru.web.server import COOKIE, make_app

testclient = pytest.importorskip("starlette.testclient")


@pytest.fixture
def client(tmp_path):
    app = make_app(tmp_path / "runs")
    with testclient.TestClient(app, base_url="http://127.0.0.1:8137") as found:
        yield found


def test_everything_comes_from_the_package(client):
    page = client.get("/")
    assert page.status_code == 200
    assert "http://" not in page.text.replace("http://www.w3.org", "")
    assert "default-src 'none'" in page.headers["content-security-policy"]
    for name in ("app.js", "style.css", "views/network.js", "icon.svg"):
        found = client.get(f"/{name}")
        assert found.status_code == 200
        assert "https://" not in found.text


def test_start_lists_models_and_languages(client, tmp_path):
    ldru.Run.open("tomita_4").save(tmp_path / "runs" / "mine")
    found = client.get("/api/start").json()
    assert [m["name"] for m in found["models"] if m["kind"] == "run"] == ["mine"]
    assert len([m for m in found["models"] if m["kind"] == "shipped"]) == 21
    assert len(found["languages"]["paper"]) == 21
    assert client.get("/api/tree", params={"model": "mine", "word": "0101"}).status_code == 200


@pytest.mark.parametrize("given", [{"task": "dyck_3"}, {"regex": "(ab|ba)*b"}], ids=str)
def test_a_walk_is_the_machines_own(client, given):
    machine = client.get("/api/machine", params=given).json()
    words = client.get("/api/words", params={**given, "length": 9, "seed": 3}).json()["words"]
    task = ldru.task(given.get("task"), regex=given.get("regex"))
    assert {one["label"] for one in words} == {0, 1}
    for one in words:
        walk = client.get("/api/walk", params={**given, "word": one["word"]}).json()
        state = machine["start"]
        for symbol, seen in zip(walk["symbols"], walk["states"][1:], strict=True):
            state = machine["moves"][state][machine["alphabet"].index(symbol)]
            assert state == seen
        assert walk["label"] == one["label"] == int(task.machine.run(one["word"]))


def test_a_tree_is_the_networks_own(client):
    model, word = ldru.load("dyck_3"), "0010110100110"
    tree = client.get("/api/tree", params={"model": "dyck_3", "word": word}).json()
    tokens = torch.tensor([[int(symbol) for symbol in word]])
    with torch.no_grad():
        levels, scores = model.levels(tokens), model(tokens)
        states = networks._states(model, tokens[0].tolist(), balanced(len(word)))
    expected = torch.cat([level.nodes[0] for level in levels])
    torch.testing.assert_close(states, expected)
    assert tree["answer"] == int(scores.argmax())
    assert tree["truth"] == int(ldru.task("dyck_3").machine.run(word))
    monoid = ldru.monoid("dyck_3")
    for node in tree["nodes"]:
        assert node["class"] == int(monoid.classify(word[node["begin"] : node["end"]]))
    shares = [node["class"] == node["near"] for node in tree["nodes"]]
    assert np.mean(shares) > 0.9  # a trained network's nodes lie where their classes do


def test_brackets_are_followed(client):
    model, word = ldru.load("tomita_4"), "01100"
    given = {"model": "tomita_4", "word": word, "brackets": "(.((..)(..)))"}
    tree = client.get("/api/tree", params=given).json()
    with torch.no_grad():
        leaves = model.symbol_leaves()[torch.tensor([int(symbol) for symbol in word])]

        def join(left, right):
            return model.encoder.block(model.encoder.operator(left, right))

        pairs = join(leaves[1], leaves[2]), join(leaves[3], leaves[4])
        root = model.head(join(leaves[0], join(*pairs)))
    assert tree["answer"] == int(root.argmax())
    assert tree["probability"] == pytest.approx(float(root.softmax(0).max()), abs=1e-5)
    assert [node["end"] - node["begin"] for node in tree["nodes"][5:]] == [2, 2, 4, 5]


@pytest.mark.parametrize("text", ["", "(", ".", "(.)", "(...)", "((..)", "(..))", "((..).)", "x"])
def test_brackets_that_are_no_tree(text):
    with pytest.raises(RequestError, match="a dot for each"):
        bracketed(text, 4)


def test_a_long_word_is_drawn_and_answered(client):
    given = {"model": "parity_check", "length": 10_000, "seed": 5}
    found = client.get("/api/length", params=given).json()
    assert found["length"] == 10_000
    assert found["truth"] == (1 if found["word"].count("1") % 2 == 0 else 0)
    assert found["answer"] == found["truth"]


def test_a_proof_is_told_as_it_goes(client):
    with client.stream("GET", "/api/proof", params={"model": "parity_check"}) as found:
        text = "".join(found.iter_text())
    kinds = [line.split()[1] for line in text.splitlines() if line.startswith("event")]
    assert kinds == ["trial"] * 15 + ["verdict"]
    verdict = json.loads(text.strip().splitlines()[-1].removeprefix("data: "))
    assert verdict["summary"] == "correct at every length"
    assert verdict["wrong"] is None


def test_a_training_is_stopped_and_goes_on(client, tmp_path):
    given = {
        "regex": "1*",
        "alphabet": "01",
        "dim": 8,
        "steps": 400,
        "batch_size": 8,
        "max_length": 6,
    }
    begun = client.post("/api/training", json=given)
    assert begun.json()["seed"] == 0
    assert client.post("/api/training", json=given).status_code == 400  # one at a time
    with client.stream("GET", "/api/training") as found:
        for line in found.iter_lines():
            if line == "event: step":
                break
    assert client.post("/api/training", json={"stop": True}).status_code == 200
    events = client.get("/api/training").text
    if "event: done" not in events:  # it may have been faster
        assert "event: stopped" in events
        assert client.post("/api/training", json=given).status_code == 200
        events = client.get("/api/training").text
    assert "event: done" in events
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
        ("machine", {"task": "sst2"}, "is a data set"),
        ("machine", {"task": "x" * 5000}, "5,000 characters"),
        ("machine", {"regex": "(a*){20000}"}, "1,000 copies"),
        ("machine", {"regex": "((a{99}){99}){99}"}, "1,000 copies"),
        ("machine", {"regex": "a" * 300}, "1 to 200 characters"),
        ("machine", {"regex": "(.|a)*a.{7}", "alphabet": "ab"}, "too many for a picture"),
        ("walk", {"task": "dyck_3", "word": "012"}, "not in the alphabet"),
        ("words", {"task": "dyck_3", "length": "-3"}, "from 1 to 10,000"),
        ("words", {"task": "dyck_3", "length": "9" * 50}, "from 1 to 10,000"),
        ("tree", {"model": "dyck_3", "word": "01" * 40}, "1 to 64 symbols"),
        ("tree", {"model": "dyck_3"}, "1 to 64 symbols"),
        ("tree", {"model": "../../etc", "word": "01"}, "no model"),
        ("tree", {"model": "/etc/passwd", "word": "01"}, "no model"),
        ("length", {"model": "dyck_3", "length": "100000"}, "from 1 to 10,000"),
    ],
    ids=str,
)
def test_what_cannot_be_answered_is_one_sentence(client, name, given, said):
    begin = time.monotonic()
    found = client.get(f"/api/{name}", params=given)
    assert found.status_code == 400
    assert said in found.json()["error"]
    assert time.monotonic() - begin < 5


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
        assert client.get("/", params={"token": "secre"}).status_code == 403
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
    kind = {"content-type": "application/json"}
    for body in (b"", b"[]", b"{", b"\xff", b"[" * 9000, b" " * 20_000, b'{"task": "nothing"}'):
        assert client.post("/api/training", content=body, headers=kind).status_code == 400


def test_fifty_at_once(client):
    def ask(number):
        word = format(number, "06b")
        return client.get("/api/tree", params={"model": "dyck_3", "word": word}).status_code

    with ThreadPoolExecutor(50) as pool:
        assert set(pool.map(ask, range(50))) == {200}


def test_any_request_is_answered_or_refused(client):
    rng = random.Random(0)
    texts = ["", "0", "01" * 30, "dyck_3", "parity_check", "(01)*", "((", "[a", "{2}", "a{3", "\\"]
    texts += ["é", "\0", "-1", "1e9", "../x", "nan", "~0*", "a&b", "0" * 500, "(.(..))", "dyck_0"]
    names = ["machine", "walk", "words", "model", "tree", "length", "start"]
    keys = ["task", "regex", "alphabet", "word", "length", "seed", "model", "brackets"]
    for _ in range(400):
        given = {key: rng.choice(texts) for key in rng.sample(keys, rng.randint(0, 4))}
        found = client.get(f"/api/{rng.choice(names)}", params=given)
        assert found.status_code in (200, 400), (given, found.text)
