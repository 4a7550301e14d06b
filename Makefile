SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

VENV := .venv
BIN  := $(VENV)/bin
TRACES ?= 20000
SEED   ?= 7

.PHONY: help
help: ## this list
	@awk -F':.*## ' '/^[.a-z-]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(VENV)/.stamp: requirements.lock pyproject.toml
	@tools/venv $(VENV)

.PHONY: venv
venv: $(VENV)/.stamp ## build .venv from requirements.lock
