# Everything a person or CI runs. `make` lists it.
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
BENCH := scripts/bench
PYTEST_WORKERS ?= 4
SOAK_MINUTES ?= 20

.DEFAULT_GOAL := help
.PHONY: help install demo dev test test-long test-fast check fmt lint types arch migrations-check bench bench-large previous-release screenshots migration lock clean

help: ## List these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-17s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

install: $(INSTALLED) ## Make .venv from the locked dependencies (every target below does it when needed)

$(INSTALLED): requirements/dev.lock pyproject.toml scripts/install
	@scripts/install $(VENV)
	@touch $@

demo: $(INSTALLED) ## Run the three demo tests live in the terminal, then stay up (PORT=8000)
	@$(BIN)/parley dev --demo $(if $(PORT),--port $(PORT))

dev: $(INSTALLED) ## Run the whole service on this machine (PORT=8000)
	@$(BIN)/parley dev $(if $(PORT),--port $(PORT))

test: $(INSTALLED) ## Run every test but those of `make test-long` (PYTEST_WORKERS=4)
	@$(BIN)/pytest -n $(PYTEST_WORKERS) --dist worksteal

test-long: $(INSTALLED) ## Run the tests that take minutes each: faults, ten thousand racing results
	@$(BIN)/pytest -m long

test-fast: $(INSTALLED) ## Run the tests without I/O, in under a minute
	@$(BIN)/pytest -n $(PYTEST_WORKERS) -m "not slow and not e2e" tests/unit

check: lint types arch migrations-check ## Run every check that is not a test

fmt: $(INSTALLED) ## Format the code and mend what can be mended
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

lint: $(INSTALLED) ## Check style and format
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

types: $(INSTALLED) ## Check types, strictly, in src and tests
	@$(BIN)/mypy

arch: $(INSTALLED) ## Check that imports run one way
	@$(BIN)/lint-imports --no-logo

migrations-check: $(INSTALLED) ## Check that the migrations make the tables the code declares
	@PYTHON=$(BIN)/python $(BIN)/python -m scripts.with_postgres scripts/check-migrations

bench: $(INSTALLED) ## Measure the hot path as ratios to a bare client
	@$(BENCH)

bench-large: $(INSTALLED) ## Measure lists and ticks over a million runs, and two schedulers
	@$(BIN)/python -m scripts.bench_large

previous-release: $(INSTALLED) ## Run an earlier release's tests on this schema: make previous-release REVISION=v1.2.0
	@scripts/previous-release-check $(REVISION)

chaos: $(INSTALLED) ## Strike a fleet under load with the faults of a seed, check that nothing is lost (SEED=7)
	@$(BIN)/python -m tests.e2e.faults $(if $(SEED),--seed $(SEED)) $(CHAOS)

soak: $(INSTALLED) ## Run a fleet at full speed, check that nothing grows (SOAK_MINUTES=20)
	@$(BIN)/python -m tests.e2e.faults.soak --minutes $(SOAK_MINUTES)

screenshots: $(INSTALLED) ## Take the docs' pictures of the dashboard anew (needs Chromium)
	@PARLEY_TEST_SCREENSHOTS=1 $(BIN)/pytest -q tests/e2e/dashboard/test_screenshots.py

migration: $(INSTALLED) ## Write a migration for what changed: make migration MESSAGE="add x"
	@test -n "$(MESSAGE)" || { echo 'Say what it does: make migration MESSAGE="add x"' >&2; exit 2; }
	@$(BIN)/python -m scripts.new_migration "$(MESSAGE)"

lock: $(INSTALLED) ## Lock the dependencies anew (UPGRADE=1 takes newer releases)
	@scripts/lock $(VENV) $(if $(UPGRADE),--upgrade)

clean: ## Remove caches, builds and .venv (not .parley, which holds your local data)
	@rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	@find src tests scripts migrations -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
