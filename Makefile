# make demo   the main job: pay a file of claims while the payer is killed, and pay each once
# make test   everything: lint, types, documentation, all tests with the coverage gate,
#             and those of the distributions under plugins/
# make check  the fast loop: lint, types and the tests that take no long time
# make fmt    put the code in the form that lint asks for
# make clean  away with what these made

# The first interpreter that is new enough; PYTHON=... overrides it.
PYTHON ?= $(shell for p in python3 python3.11 python3.12 python3.13 python3.14; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
BIN := .venv/bin
WORKERS ?= 2
PLUGINS := $(patsubst %/pyproject.toml,%,$(wildcard plugins/*/pyproject.toml))

.PHONY: demo test check lint fmt types docs bench clean

demo: .venv/salvor.stamp
	$(BIN)/salvor demo

test: .venv/test.stamp lint types docs
	$(BIN)/pytest -n $(WORKERS) --cov --cov-report=term
	@for plugin in $(PLUGINS); do \
		echo "$$plugin" && (cd $$plugin && $(CURDIR)/$(BIN)/pytest -q) || exit 1; done

check: .venv/test.stamp lint types
	$(BIN)/pytest -n $(WORKERS) -q -m "not slow"

lint: .venv/test.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

fmt: .venv/test.stamp
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types: .venv/test.stamp
	$(BIN)/mypy
	@for plugin in $(PLUGINS); do (cd $$plugin && $(CURDIR)/$(BIN)/mypy) || exit 1; done

docs: .venv/test.stamp
	$(BIN)/mkdocs build --strict --quiet

bench: .venv/test.stamp
	$(BIN)/python -m benchmarks

.venv/bin/python:
	@test -n "$(PYTHON)" || { echo "salvor needs Python 3.11 or newer; say make PYTHON=/path/to/it" >&2; exit 1; }
	$(PYTHON) -m venv .venv

.venv/salvor.stamp: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	@touch $@

.venv/test.stamp: pyproject.toml $(PLUGINS:%=%/pyproject.toml) | .venv/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[test,docs]' $(PLUGINS:%=-e ./%)
	@touch $@ .venv/salvor.stamp

clean:
	rm -rf .venv build dist site htmlcov .coverage .coverage.* .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
