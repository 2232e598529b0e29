# Windrow: `make` lists what there is. Everything runs in .venv, which `make setup` builds.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

BIN := .venv/bin
READY := .venv/.ready
JAVA := java_home="$$(scripts/java)" && export JAVA_HOME="$$java_home" &&
PYTEST := $(BIN)/python -m pytest
AGAIN :=
FLINK_KAFKA := org.apache.flink:flink-sql-connector-kafka:5.0.0-2.2

# How much of what laws name is drawn: `make test-laws DRAWS=1` for all of it.
ifdef DRAWS
export WINDROW_DRAWS := $(DRAWS)
endif

# Tests and Spark start many Python processes, which would each compile all source files anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup demo test test-local test-fast test-laws test-spark services test-services lint types imports fmt golden-accept bench peers experiments docs check clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(READY) ## Build .venv with Windrow and all it needs (quick the second time)

# The stamp is older than one of these exactly when what must be installed may have changed.
$(READY): pyproject.toml papers/pyproject.toml scripts/setup
	@scripts/setup
	@touch $@

demo: $(READY) ## Run the main job on Spark in local mode, and check its answers
	@$(JAVA) $(BIN)/windrow demo

# In one run, which collects once. By name, the short files of tests/unit come last, so that neither
# process waits for the other's last file; by how many tests they have, one long law would come last.
test: $(READY) ## Run every test but those that start servers
	@$(JAVA) $(PYTEST) -n 2 --dist loadfile --no-loadscope-reorder -m "not services"

test-local: $(READY) ## Run all tests that need no JVM: quick and slow ones, and laws
	@$(PYTEST) -n 2 --dist loadfile --no-loadscope-reorder -m "not spark and not services"

test-fast: $(READY) ## Run the tests that need no JVM, laws and slow ones apart
	@$(PYTEST) -n 2 --dist loadfile -m "not spark and not services and not law and not slow"

test-laws: $(READY) ## Run the tests of laws that need no JVM: any cut, order, runner, restart
	@$(PYTEST) -n 2 --dist loadfile -m "law and not spark and not services"

# By name, the long files come early; by how many tests they have, one long test would come last.
test-spark: $(READY) ## Run the tests that need a JVM
	@$(JAVA) $(PYTEST) -n 2 --dist loadfile --no-loadscope-reorder -m spark tests/docs tests/extension tests/spark

services: ## Install the servers that tests of connectors start, or say what is missing
	@missing=0; for service in scripts/services/*; do \
	  if [ -x "$$service" ]; then "$$service" || missing=1; fi; done; exit $$missing

test-services: $(READY) ## Run the tests that start servers of their own; they skip where one is missing
	@$(PYTEST) -n 2 --dist loadfile -m services -rs $(AGAIN) tests/servers

lint: $(READY) ## Check style and formatting
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

fmt: $(READY) ## Rewrite the code in the house format
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

types: $(READY) ## Check types
	@$(BIN)/mypy

imports: $(READY) ## Check which room imports which
	@$(BIN)/lint-imports --no-cache

golden-accept: $(READY) ## Accept the present EXPLAIN texts as the expected ones; review the diff
	@WINDROW_ACCEPT_GOLDEN=1 $(PYTEST) tests/golden

bench: $(READY) ## Measure the speed table of the README
	@$(JAVA) $(BIN)/python -m benchmarks.run

# Apart, since their packages need other versions than Windrow's; PyFlink needs Java as Spark does.
peers: $(READY) ## Install Flink and Pathway, with which benchmarks compare where they are there
	@for peer in flink pathway; do \
	  $(BIN)/python -m venv .venv-peers/$$peer; \
	  .venv-peers/$$peer/bin/python -m pip install --quiet --upgrade pip; \
	  .venv-peers/$$peer/bin/python -m pip install --quiet -r benchmarks/peers/$$peer.txt; \
	done
	@if command -v mvn >/dev/null; then \
	  mvn --quiet --batch-mode dependency:copy -Dartifact=$(FLINK_KAFKA) -Dmdep.stripVersion=true \
	    -DoutputDirectory=$(CURDIR)/.venv-peers/flink; \
	else echo "peers: Flink's connector for Kafka needs Maven: sudo apt-get install -y maven"; fi

experiments: $(READY) ## Run the papers' experiments at full size and write their page
	@$(BIN)/windrow experiment run all --out docs/experiments
	@$(BIN)/windrow experiment page docs/experiments --to docs/experiments.md

docs: $(READY) ## Build the site into site/
	@$(BIN)/mkdocs build --strict

check: lint types imports test test-services docs ## Run all that must hold before a change lands

clean: ## Remove .venv and what the tools left behind
	@rm -rf .venv .venv-peers site build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
