# `make demo` and `make test` start from a bare clone: Python 3.11 or newer and make are enough.
PYTHON ?= python3
VENV   := .venv
SEED   ?= 0
BIN    := $(VENV)/bin

.PHONY: install demo test check test-slow test-gpu test-browser play docs test-docs docs-serve \
  results verdicts machines hard-tests certificates taught analysis analysis-runs \
  test-attack test-cluster dist hashes install-hashed clean

install: $(VENV)/.installed

$(VENV)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $@

# Parity of words up to length 40, tried on words up to length 500, then judged at every length;
# SEED=3 trains another model.
# One thread: a model this small gains little from two, and loses much when cores are shared.
demo: install
	OMP_NUM_THREADS=1 $(BIN)/ldru train parity_check --dim 24 --batch-size 64 --steps 4000 \
	  --words 64 --seeds $(SEED) --out runs/demo --resume
	OMP_NUM_THREADS=1 $(BIN)/ldru extract runs/demo/parity_check-ldru-seed$(SEED)-*

check: install
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

# One worker takes a file whole: its tests share what is costly. Groups have no effect with this
# pytest, which does not read the names that pytest-xdist gives them.
test: check
	$(BIN)/pytest -n auto --dist loadfile

test-slow: install
	$(BIN)/pytest -n auto -m slow

# Every attack whole, about 20 minutes on two cores; its table goes into docs/reliability.md.
test-attack: install
	OMP_NUM_THREADS=1 $(BIN)/python -m attack --page docs/reliability.md

# Ray and submitit, both on this machine, with a worker killed in each.
test-cluster: install
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev,cluster]'
	$(BIN)/pytest -m cluster

test-gpu: install
	$(BIN)/pytest -m "gpu or not gpu" tests/kernels

# The playground in Chromium, which is installed where that is possible; elsewhere the tests are
# skipped, and say why.
test-browser: install
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[web,browser]'
	@command -v chromium chromium-browser google-chrome || \
	  { [ "$$(id -u)" = 0 ] && apt-get update -qq && apt-get install -y -qq chromium; } || \
	  echo "no Chromium here; install Debian's package chromium"
	$(BIN)/pytest -m browser tests/web -rs

# A page with languages, networks and proofs, on this machine.
play: install
	$(BIN)/ldru play

# The site, into site/: runs the tutorials, draws from the records, checks every link. Open
# site/index.html, or serve it.
docs: $(VENV)/.installed-docs
	OMP_NUM_THREADS=1 $(BIN)/python -m tools.site

# The same in a browser, opened from the disk: search, sorting, widths. Needs Chromium.
test-docs: docs
	$(BIN)/python -m tools.site.browser

docs-serve: docs
	$(BIN)/python -m http.server --bind 127.0.0.1 --directory site 8000

$(VENV)/.installed-docs: $(VENV)/.installed
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[docs]'
	touch $@

# The wheel and the sources, the same bytes from one commit anywhere.
dist: install
	$(BIN)/python -m tools.dist

# The hashes of what this machine would install, and an install of nothing else.
hashes: install
	$(BIN)/python -m tools.hashes constraints-hashes.txt

install-hashed:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r constraints-hashes.txt
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	touch $(VENV)/.installed

# Packs the records of results/runs, and writes the README's table and figure, the tables and
# figures under results/ and the shipped models.
results: install
	$(BIN)/python -m tools.publish

# Exact machines of the runs under results/runs that have no verdict yet.
verdicts: install
	$(BIN)/python -m tools.verdicts

# Exact machines of the shipped models, for the site's gallery.
machines: install
	$(BIN)/python -m tools.machines

hard-tests: install
	$(BIN)/python -m tools.hard_tests

certificates: install
	$(BIN)/python -m tools.certificates

# Networks taught the products of monoids, three seeds for each language: about an hour and a half.
taught: install
	$(BIN)/python -m tools.taught

# What docs/analysis.md shows, for tasks; about five minutes.
ANALYSIS := results/analysis
figures   = --plot $(ANALYSIS)/$(1).png --json > $(ANALYSIS)/$(1).json

analysis: install
	mkdir -p $(ANALYSIS)
	$(BIN)/ldru monoid dyck_2 $(call figures,dyck_2-monoid)
	$(BIN)/ldru heatmaps dyck_6 --ranges 10:40:2 42:60:2 62:100:4 102:150:4 480:500:2 \
	  $(call figures,dyck_6-heatmaps)
	for task in dyck_4 dyck_6 dyck_8 dyck_12; do \
	  $(BIN)/ldru coverage $$task --lengths 40 60 100 150 --test 500 \
	    $(call figures,$$task-coverage) || exit 1; \
	done

# The same for trained runs, under a name of its own: the committed figures are of three runs whose
# weights are not kept. EMBEDDED="RUN RUN" compares two, such as trained up to 40 and to 150.
NAME     ?= shipped-dyck_6
DYCK_6   ?= dyck_6
EMBEDDED ?= $(firstword $(DYCK_6))

analysis-runs: install
	mkdir -p $(ANALYSIS)
	$(BIN)/ldru analyse $(DYCK_6) $(call figures,$(NAME)-associativity)
	$(BIN)/ldru analyse $(EMBEDDED) --what embeddings $(call figures,$(NAME)-embeddings)

clean:
	rm -rf $(VENV) build dist site .pytest_cache .mypy_cache .ruff_cache .hypothesis
