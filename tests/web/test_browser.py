"""The playground in a real browser: its own arithmetic, every view, both editions."""

import re

import pytest
import torch

import ldru
from ldru.runs.shipped import shipped_names
from ldru.web.export import export
from tests.web.browsing import WIDTHS, browser, go, hosted, open_page, photograph, played

pytestmark = pytest.mark.browser

STATIC_MODELS = ["dyck_3", "parity_check"]
LENGTHS = (1, 2, 3, 5, 13, 64)
VIEWS = ("language", "network", "length", "proof", "train", "compare")
SCORES = """async ([name, words]) => {
  const { getModel } = await import(new URL("api.js", document.baseURI));
  const { network, language } = await getModel(name);
  const { balanced } = await import(new URL("engine/trees.js", document.baseURI));
  return words.map((tokens) => [
    [...network.answer(tokens)],
    [...network.scores(network.states(tokens, balanced(tokens.length)).at(-1))],
    language.label(tokens),
  ]);
}"""


@pytest.fixture(scope="module")
def chromium():
    with browser() as found:
        yield found


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Networks of every operator and activation, with weights as they are drawn."""
    folder = tmp_path_factory.mktemp("runs")
    settings = ldru.TrainSpec(batch_size=4, validation_words=4, validation_length=8)
    for operator in ("mlp", "grc", "gated_sum", "linear", "element_sum"):
        model = ldru.LDRUSpec(dim=6, operator=operator, activation="silu", dropout=0.0)
        ldru.train("cycle_navigation", model=model, steps=3, settings=settings, out=folder)
    return folder


@pytest.fixture(scope="module")
def server(runs):
    with played(runs) as link:
        yield link


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("static") / "edition"
    export(folder, names=STATIC_MODELS)
    with hosted(folder) as link:
        yield link


@pytest.fixture(params=WIDTHS)
def page(request, chromium):
    found = open_page(chromium, width=request.param)
    found.name = request.param
    yield found
    overflow = found.evaluate("document.documentElement.scrollWidth - innerWidth")
    assert overflow <= 0, "the page is wider than the screen"
    assert not found.faults
    found.close()


def words_of(run):
    """Words of many lengths as tokens, with their labels by the machine."""
    found = []
    for length in LENGTHS:
        batch = run.language.draw_test(length, words=2, seed=length)
        found += [row.tolist() for row in batch.tokens]
    return found


def check_scores(page, name, run):
    words = words_of(run)
    for tokens, (all_at_once, by_tree, label) in zip(
        words, page.evaluate(SCORES, [name, words]), strict=True
    ):
        with torch.no_grad():
            expected = run.model(torch.tensor([tokens]))[0]
        for found in (all_at_once, by_tree):
            torch.testing.assert_close(torch.tensor(found), expected, atol=1e-4, rtol=1e-4)
        assert label == int(run.language.machine.run(torch.tensor(tokens).numpy()))


def test_the_page_computes_what_pytorch_does(chromium, server, runs):
    page = open_page(chromium)
    go(page, server)
    for name in shipped_names():
        check_scores(page, name, ldru.Run.open(name))
    folders = sorted(runs.iterdir())
    assert len(folders) == 5
    for folder in folders:
        check_scores(page, folder.name, ldru.Run.open(folder))
    assert not page.faults


def test_the_static_edition_computes_it_too(chromium, files):
    page = open_page(chromium)
    go(page, files)
    for name in STATIC_MODELS:
        check_scores(page, name, ldru.Run.open(name))
    assert not page.faults


def test_words_are_drawn_uniformly_for_each_label(chromium, server):
    page = open_page(chromium)
    go(page, server)
    drawn = page.evaluate(
        """async () => {
          const { getLanguage } = await import(new URL("api.js", document.baseURI));
          const { randomFrom } = await import(new URL("engine/language.js", document.baseURI));
          const language = await getLanguage({ task: "dyck_2" });
          return language.drawSome(6, 4000, randomFrom(3)).map((one) => language.decode(one));
        }"""
    )
    machine = ldru.task("dyck_2").machine
    for label in (0, 1):
        words = [format(n, "06b") for n in range(64)]
        words = [word for word in words if int(machine.run(word)) == label]
        counts = [drawn.count(word) for word in words]
        expected = 2000 / len(words)
        assert sum(counts) == 2000
        square = sum((count - expected) ** 2 / expected for count in counts)
        assert square < len(words) + 5 * (2 * len(words)) ** 0.5  # chi-square, five deviations


def test_language(page, server):
    go(page, server)
    page.get_by_label("Language").select_option("tomita_4")
    page.get_by_label("Word", exact=True).fill("1000")
    step = page.get_by_role("button", name="one symbol on")
    for _ in range(4):
        step.click()
    page.get_by_text("The word has label 0.").wait_for()
    assert page.get_by_role("button", name="one symbol on").is_disabled()
    photograph(page, f"language-{page.name}")
    page.get_by_label("or a regular expression").fill("(ab)*")
    page.get_by_text("(ab)*: 3 states").wait_for()
    offered = page.locator(".words button").first
    word = offered.inner_text().split(" → ")[0]
    offered.click()
    assert page.get_by_label("Word", exact=True).input_value() == word
    page.get_by_label("or a regular expression").fill("(ab")
    page.get_by_role("alert").wait_for()
    assert "(ab" in page.get_by_role("alert").inner_text()


def test_network(page, server):
    go(page, f"{server}#network?model=dyck_3&word=0010110100110")
    page.get_by_text("The network says 0").wait_for()
    machine = ldru.task("dyck_3").machine
    assert int(machine.run("0010110100110")) == 0
    nodes = page.locator("[data-part^=n]")
    count = nodes.count()
    root = nodes.nth(count - 1)
    root.hover()
    page.get_by_text(re.compile("symbols 1 to 13: 0010110100110")).wait_for()
    root.focus()
    page.keyboard.press("Enter")  # turn the root by the keyboard
    page.get_by_text("along your brackets").wait_for()
    assert "brackets=" in page.url
    page.get_by_role("button", name="balanced again").click()
    page.locator("[data-part=s12]").click()  # now it ends in 1
    page.get_by_text("Symbol 13 changed: 5 of 27 nodes are new.").wait_for()
    assert page.get_by_label("Word", exact=True).input_value() == "0010110100111"
    photograph(page, f"network-{page.name}")


def test_length(page, server):
    go(page, f"{server}#length?model=parity_check&length=500&seed=4")
    page.get_by_text("500 symbols: the network says").wait_for()
    page.get_by_label("A random word of length").fill("100")
    page.get_by_text("10,000 symbols: the network says").wait_for()
    page.locator(".verdict .good").wait_for()
    photograph(page, f"length-{page.name}")
    assert "length=10000" in page.url


def test_proof(page, server):
    go(page, f"{server}#proof?model=parity_check")
    page.get_by_role("button", name="extract its machine").click()
    page.get_by_text("correct at every length").wait_for(timeout=60_000)
    assert page.locator("tbody tr").count() == 15
    page.get_by_role("button", name="show the states at tolerance 0.8").click()
    assert page.locator(".ball").count() == 2
    photograph(page, f"proof-{page.name}")


def test_train(page, server, runs):
    seed = list(WIDTHS).index(page.name)
    go(page, f"{server}#train?dim=8&steps=60&batch_size=8&max_length=6&seed={seed}")
    page.get_by_label("or a regular expression").fill("1*0")
    page.get_by_role("button", name="train", exact=True).click()
    link = page.get_by_role("link", name="See its tree")
    link.wait_for(timeout=120_000)
    photograph(page, f"train-{page.name}")
    link.click()
    page.get_by_text("The network says").wait_for()
    name = re.search(r"model=([^&]*)", page.url)[1]
    assert ldru.Run.open(runs / name).record.evaluation is not None


def test_compare(page, server):
    go(page, f"{server}#compare?first=dyck_2&second=dyck_3&word=000111")
    first, second = page.locator("section").all()
    first.get_by_text("The network says 0").wait_for()
    second.get_by_text("The network says 1").wait_for()
    first.locator("[data-part=s0]").click()
    second.locator("[data-part=s0][aria-label^='symbol 1 is 1']").wait_for()
    page.wait_for_function("location.hash.includes('word=100111')")
    photograph(page, f"compare-{page.name}")


@pytest.mark.parametrize(
    "view",
    [
        "language?task=prefix_1_2&word=0110&place=2&length=7&seed=3",
        "network?model=tomita_5&word=01101&brackets=(.((..)(..)))",
        "length?model=dyck_2&length=37&seed=5",
        "compare?word=0110&first=tomita_4&second=tomita_5",
    ],
)
def test_a_link_restores_its_view(chromium, server, view):
    texts, links = [], []
    for link in (f"{server}#{view}", None):
        page = open_page(chromium)
        go(page, link or links[0])
        page.wait_for_load_state("networkidle")
        texts.append(page.locator("main").inner_text())
        links.append(page.url)
        page.close()
    assert texts[0] == texts[1]
    assert links[0] == links[1]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("view", VIEWS)
def test_no_serious_fault_of_accessibility(chromium, server, view, scheme):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    page = open_page(chromium, scheme=scheme)
    go(page, f"{server}#{view}")
    page.wait_for_load_state("networkidle")
    found = axe.Axe().run(page).response["violations"]
    faults = [(fault["id"], fault["nodes"][0]["html"][:200]) for fault in found]
    assert not faults
    photograph(page, f"{view}-{scheme}")
    page.close()


def test_the_static_edition_shows_its_views(page, files):
    go(page, f"{files}#network?model=dyck_3&word=001011")
    page.get_by_text("The network says 1").wait_for()
    assert page.get_by_role("link", name="Train").count() == 0
    go(page, f"{files}#proof?model=parity_check")
    page.get_by_role("button", name="extract its machine").click()
    page.get_by_text("correct at every length").wait_for(timeout=30_000)
    go(page, f"{files}#language?task=flip_flop")
    page.get_by_text("flip_flop:").wait_for()
    assert page.get_by_label("or a regular expression").count() == 0
    go(page, f"{files}#length?model=dyck_3&length=10000")
    page.get_by_text("10,000 symbols").wait_for()
    photograph(page, f"static-{page.name}")


def test_a_wrong_word_jumps_into_a_tree(page, files):
    """The proof of dyck_3 is right; a recorded verdict with a wrong word is shown all the same."""
    page.route(
        "**/data/proof/dyck_3.json",
        lambda route: route.fulfill(
            json=[["verdict", {"summary": "wrong", "correct": False, "wrong": "0011"}]]
        ),
    )
    go(page, f"{files}#proof?model=dyck_3")
    page.get_by_role("button", name="extract its machine").click()
    page.get_by_text("The shortest wrong word").wait_for()
    page.locator("[data-part=s3]").wait_for()
    assert page.locator("[data-part^=s]").count() == 4
