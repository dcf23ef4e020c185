# Needs Python 3.11 or newer, Java 17 or newer and make; everything else it installs into .venv.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
READY := .venv/ready
PACKAGES := replication spark_jobs orchestration
# Five modules at a time, since most of them wait, in the order of tests/conftest.py; PYTEST_ARGS come
# later and win.
PYTEST := $(BIN)/python -m pytest -q -n 5 --dist loadfile --no-loadscope-reorder

# Test modules take longer to compile than most of them to run, and so do the commands that they start.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup run smoke bench chaos mutants test test-fast test-ui test-deploy wheel check fix docs lock sbom audit clean

help: ## show this list
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 13

setup: $(READY) ## install everything into .venv

$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
		{ echo "Isthmus needs Python 3.11 or newer: install python3.11 (with venv), or say make PYTHON=/path/to/python"; exit 1; }
	@echo "setting up .venv (a few minutes the first time)"
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r requirements.lock
	@$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@$(BIN)/python -m replication.adapters.local.broker_classes
	@$(BIN)/python -m spark_jobs.driver.class_archive
	@touch $@

run: $(READY) ## embedded clusters, a stream of orders, a live table; DEMO=merge|secure|active-active|mesh|ring|hybrid
	@$(BIN)/isthmus demo $(DEMO)

smoke: $(READY) ## unattended: copy under kill -9, then compare every record; DEMO= as for run, or failover
	@$(BIN)/isthmus smoke $(DEMO)

bench: $(READY) ## us and MirrorMaker 2 on the same brokers, in one run; BENCH_MODULE=bench.filtered: a filter
	@$(BIN)/python -m $(if $(BENCH_MODULE),$(BENCH_MODULE),bench) $(BENCH_ARGS)

chaos: $(READY) ## faults drawn from SEED for MINUTES while records flow, then a comparison; TRANSFORMS=1: transforms, too
	@$(BIN)/python -m chaos $(if $(SEED),--seed $(SEED)) $(if $(MINUTES),--minutes $(MINUTES)) $(if $(filter-out 0,$(TRANSFORMS)),--transforms) $(CHAOS_ARGS)

mutants: $(READY) ## change the code in places drawn from SEED, list what no test notices; MUTANTS_ARGS
	@$(BIN)/python -m mutation $(if $(SEED),--seed $(SEED)) $(if $(MINUTES),--minutes $(MINUTES)) $(MUTANTS_ARGS)

test: $(READY) ## all tests, five modules at a time; PYTEST_ARGS
	@$(PYTEST) $(PYTEST_ARGS)

test-ui: $(READY) ## Dagster's UI in Debian's Chromium, over a real flow; SCREENSHOTS=docs/pictures renews the pictures
	@command -v chromium >/dev/null || { echo "test-ui needs chromium: apt-get install chromium"; exit 1; }
	@SCREENSHOTS=$(SCREENSHOTS) $(BIN)/python -m pytest -q -m ui -p no:randomly tests/ui $(PYTEST_ARGS)

# Four at a time on two cores: these tests wait as long as they compute.
test-fast: $(READY) ## the tests that start no broker, JVM or daemon; PYTEST_ARGS
	@$(PYTEST) -n 4 --dist worksteal --hypothesis-profile fast -m "not integration and not ui" --ignore tests/integration $(PYTEST_ARGS)

test-deploy: $(READY) ## the tests that need packages of Debian: postgresql, krb5-kdc; PYTEST_ARGS
	@$(BIN)/python -m pytest -q -m debian tests/deploy $(PYTEST_ARGS)

wheel: $(READY) ## write dist/isthmus-*.whl
	@$(BIN)/pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation --wheel-dir dist .
	@rm -rf build
	@ls dist/*.whl

check: $(READY) ## format, lint, import contracts, types
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/lint-imports
	@$(BIN)/mypy

fix: $(READY) ## let the formatter and the linter mend what they can
	@$(BIN)/ruff check --fix-only --quiet .
	@$(BIN)/ruff format --quiet .

docs: $(READY) ## renew the tables of settings in docs/
	@$(BIN)/python -m replication.config.keys.docs_table

lock: ## renew requirements.lock and deploy/requirements.lock from pyproject.toml; needs uv
	uv pip compile pyproject.toml --extra dev --generate-hashes --no-emit-index-url --no-header --no-strip-extras \
		--python-version 3.11 --quiet -o requirements.lock
	uv pip compile pyproject.toml --extra msk --extra otel --extra postgres --constraint requirements.lock --generate-hashes --no-emit-index-url \
		--no-header --no-strip-extras --no-annotate --python-version 3.11 --quiet -o deploy/requirements.lock

sbom: $(READY) ## dist/sbom.json: a CycloneDX document of all that requirements.lock pins
	@mkdir -p dist
	@$(BIN)/python -W ignore -m cyclonedx_py requirements requirements.lock --pyproject pyproject.toml \
		--output-reproducible --output-file dist/sbom.json

audit: ## known vulnerabilities of what requirements.lock pins; needs uv, and PyPI's database
	uv tool run pip-audit --requirement requirements.lock --disable-pip --require-hashes

clean: ## remove .venv, state and caches; running clusters are stopped first
	@if test -x $(BIN)/isthmus; then $(BIN)/isthmus down; $(BIN)/isthmus dev down; fi
	@rm -rf .venv .isthmus .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache mutants *.egg-info
