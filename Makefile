# Recipes are thin: what is more than a line lives in tools/.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.stamp
CAMPAIGN := build/campaign
CLASSES := build/spark-classes.jsa
QUICK_JAVA := -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:SharedArchiveFile=$(CURDIR)/$(CLASSES) -Xlog:disable
TRACES ?= 20000
SEED ?= 7
PYTEST_ARGS ?=

.PHONY: help venv run test spec lint types imports bench lock clean distclean

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

$(STAMP): requirements.lock pyproject.toml
	@tools/venv $(VENV)

venv: $(STAMP) ## build or update .venv from requirements.lock

run: $(STAMP) ## check the reference broker, then a Spark campaign of TRACES=20000 traces; report in build/
	@tools/ensure-java >/dev/null
	$(BIN)/partq run reference -v
	rm -rf $(CAMPAIGN)
	status=0; tools/ensure-java $(BIN)/partq fuzz reference --traces $(TRACES) --seed $(SEED) \
		--out $(CAMPAIGN) || status=$$?; $(BIN)/partq report $(CAMPAIGN); exit $$status

$(CLASSES): $(STAMP)
	@mkdir -p build
	-tools/ensure-java $(BIN)/python tools/spark-classes $@ >/dev/null

test: $(STAMP) $(CLASSES) ## every test that needs no external server (PYTEST_ARGS=… for more options)
	SPARK_SUBMIT_OPTS="$(QUICK_JAVA)" tools/ensure-java $(BIN)/pytest -n 2 --dist loadgroup -m "not server" $(PYTEST_ARGS)

spec: $(STAMP) ## the TLA+ specification, checked by TLC and compared with the model
	tools/ensure-tlc $(BIN)/partq spec check
	tools/ensure-tlc $(BIN)/partq spec compare

lint: $(STAMP) ## ruff: rules and formatting
	$(BIN)/ruff check
	$(BIN)/ruff format --check

types: $(STAMP) ## mypy, strict, all five source roots and the benchmarks
	$(BIN)/mypy

imports: $(STAMP) ## who may import whom
	$(BIN)/lint-imports

bench: $(STAMP) ## side-by-side measurements
	tools/ensure-java $(BIN)/python -m benchmarks

lock: ## write requirements.lock anew (LOCK_ARGS=--upgrade: newest versions)
	tools/lock $(LOCK_ARGS)

clean: ## remove what was built, but for .venv
	rm -rf build dist .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	rm -rf spark-warehouse metastore_db derby.log
	find . -path ./$(VENV) -prune -o -name __pycache__ -type d -exec rm -rf {} +

distclean: clean ## and .venv
	rm -rf $(VENV)
