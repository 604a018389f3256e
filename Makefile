# Everything starts from a Python of 3.11 or later and a package index: `make demo`, `make test`.
#
#   PY=python3.12 make test    another interpreter, in a virtual environment of its own
#   make test ARGS="-k scan"   more arguments for pytest
#
# Nothing is installed again while pyproject.toml stays as it is.

SHELL := /bin/sh
.DEFAULT_GOAL := help

# The first interpreter that runs and is new enough.
PY ?= $(shell for p in python3 python3.13 python3.12 python3.11 python; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
# One environment per interpreter that was asked for by name.
VENV ?= .venv$(if $(filter command environment,$(firstword $(origin PY))),-$(notdir $(PY)))
BIN := $(VENV)/bin
JOBS ?= $(shell nproc 2>/dev/null || sysctl -n hw.ncpu 2>/dev/null || echo 2)
ARGS ?=
PIP := $(BIN)/python -m pip --disable-pip-version-check
RUN := PYTHONPATH=src $(BIN)/python

help: ## Show this list
	@sed -n 's/^\([a-z-]*\):.*## /  make \1@/p' Makefile | awk -F@ '{ printf "%-22s%s\n", $$1, $$2 }'

demo: $(VENV)/.demo ## A tour of the main job, in under a minute
	@$(RUN) -m tapeless.demo $(ARGS)

test: $(VENV)/.dev ## All tests
	$(BIN)/python -m pytest -q -n $(JOBS) $(ARGS)

test-peers: $(VENV)/.peers ## Tests of what needs JAX or PyTorch
	$(BIN)/python -m pytest -q tests_with_peers $(ARGS)

quick: $(VENV)/.dev ## The tests that take seconds
	$(BIN)/python -m pytest -q -m "not slow" $(ARGS)

test-all: ## All tests with each Python 3.11, 3.12, 3.13 found on this machine
	@tools/each_python.sh $(MAKE) --no-print-directory test ARGS="$(ARGS)"

lint: $(VENV)/.dev ## Rules, formatting, types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.dev ## Mend what can be mended by machine
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .

fuzz: $(VENV)/.dev ## Random programs against plain Python: ARGS="--count 100000 --seed 1"
	$(RUN) -m tests.conformance.fuzz $(ARGS)

fuzz-ad: $(VENV)/.dev ## Derivatives of random programs: ARGS="--count 50000 --jobs 8"
	$(RUN) -m tests.ad.fuzz $(ARGS)

bench-primal: $(VENV)/.bench ## Side by side with Numba, NumPy and C; writes benchmarks/results/
	$(RUN) -m benchmarks $(ARGS)
	$(RUN) -m benchmarks.latency

bench-grad: $(VENV)/.peers ## Derivatives over their primals, and beside JAX and PyTorch; writes benchmarks/results/
	$(RUN) -m benchmarks.gradients $(ARGS)

docs: $(VENV)/.dev ## Write the generated pages
	$(RUN) -m tools.language_table
	$(RUN) -m tools.rules_page
	$(RUN) -m tools.derivative_rules
	$(RUN) -m tools.math_table
	$(RUN) -m tools.torture_page
	$(RUN) -m tools.examples_page

docs-peers: $(VENV)/.peers ## What JAX and PyTorch make of the torture suite, for its page
	$(RUN) -m tests_with_peers.torture.verdicts
	$(RUN) -m tools.torture_page

docs-check: $(VENV)/.dev ## Run the tour, check links and generated pages
	$(BIN)/python -m pytest -q tests/docs $(ARGS)

wheel: $(VENV)/.dev ## Build the wheel into dist/
	$(PIP) wheel --no-deps --quiet --wheel-dir dist .

clean: ## Remove what was built, the environments included
	rm -rf .venv .venv-* .cache dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis

# ---------------------------------------------------------------------------- environments

$(BIN)/python:
	@test -n "$(PY)" || { echo "No Python of 3.11 or later found; name one with PY=..." >&2; exit 1; }
	@echo "==> $(VENV): $$($(PY) --version)"
	@$(PY) -m venv $(VENV) || { rm -rf $(VENV); \
		echo "$(PY) cannot make a virtual environment (Debian: apt install python3-venv)" >&2; exit 1; }

$(VENV)/.demo: pyproject.toml | $(BIN)/python
	@echo "==> installing tapeless"
	$(PIP) install --progress-bar on --editable .
	@touch $@

$(VENV)/.dev: pyproject.toml | $(BIN)/python
	@echo "==> installing tapeless with its test and lint tools"
	$(PIP) install --progress-bar on --editable '.[dev]'
	@touch $@ $(VENV)/.demo

$(VENV)/.bench: pyproject.toml | $(BIN)/python
	@echo "==> installing tapeless with Numba to compare with"
	$(PIP) install --progress-bar on --editable '.[dev,bench]'
	@touch $@ $(VENV)/.demo $(VENV)/.dev

# The CPU builds of PyTorch are much smaller: name their index in PIP_EXTRA_INDEX_URL to have them.
$(VENV)/.peers: pyproject.toml | $(BIN)/python
	@echo "==> installing tapeless with JAX and PyTorch to work and to compare with"
	$(PIP) install --progress-bar on --editable '.[dev,peers]'
	@touch $@ $(VENV)/.demo $(VENV)/.dev

.PHONY: help demo test test-peers docs-peers quick test-all lint format fuzz fuzz-ad bench-primal bench-grad docs docs-check wheel clean
.DELETE_ON_ERROR:
