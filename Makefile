# Two commands do everything: `make demo` and `make test`. Both make .venv and install what is missing.
# Another interpreter: make PYTHON=/usr/bin/python3.12 demo

PYTHON ?= $(shell scripts/find-python)
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
# Two at a time, each with a Spark of its own; tests/conftest.py orders the files
PYTEST := $(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder

.DEFAULT_GOAL := help
.PHONY: help demo examples test test-slow check format java clean

help:  ## what there is to make
	@grep -hE '^[a-z-]+:.*##' Makefile | sed -E 's/:.*## /\t/' | expand -t 14

demo: $(STAMP) java  ## eight queries on three streams, on local Spark: 12 seconds of rows, then what they gave
	@$(BIN)/penstock run examples/traffic.sql --seconds 12 --drain

examples: $(STAMP)  ## the papers' worked examples, printed value beside computed value
	@$(BIN)/penstock examples

test: $(STAMP) java  ## the tests, without the slow ones
	$(PYTEST)

test-slow: $(STAMP) java  ## only the tests that take minutes
	$(PYTEST) -m slow

check: $(STAMP)  ## lint, format, types, direction of imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

format: $(STAMP)  ## rewrite the files as `make check` wants them
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

java:
	@scripts/find-java

clean:  ## remove the environment and every cache
	rm -rf $(VENV) .hypothesis .pytest_cache .mypy_cache .ruff_cache .import_linter_cache build dist
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

$(STAMP): pyproject.toml
	@scripts/make-venv "$(PYTHON)" "$(VENV)"
	@touch $@
