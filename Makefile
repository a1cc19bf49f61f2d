# Everything sets itself up: a Python of at least 3.11, make and a package index are enough.
#
#   make demo    release a bundled dataset end to end
#   make test    lint, types, docs and tests, as the CI does
#   make lint    ruff and mypy only
#   make docs    the documentation, in site/
#   make clean   remove what the above made (the virtual environment too)

VENV    ?= .venv
WORKERS ?= 2
OUT     ?= demo-release

BIN  := $(VENV)/bin
CORE := $(VENV)/.core-installed
DEV  := $(VENV)/.dev-installed

FIND_PYTHON = for name in $(PYTHON) python3.11 python3.12 python3.13 python3 python; do \
	if $$name -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then echo $$name; exit; fi; done

# What is compiled is kept for the next process, of which the tests start many, whatever the shell says.
export PYTHONDONTWRITEBYTECODE =

.DEFAULT_GOAL := help
.PHONY: help demo test lint docs pictures clean

help:
	@sed -n '3,7s/^# *//p' Makefile

demo: $(CORE)
	@rm -rf $(OUT) $(OUT)-custodian
	@$(BIN)/penstock demo --out $(OUT)

# One of the tests builds the documentation, as strictly as 'make docs'.
test: lint
	$(BIN)/pytest -n $(WORKERS) --dist worksteal -q

lint: $(DEV)
	$(BIN)/ruff check
	$(BIN)/mypy --strict
	MYPYPATH=src:studies $(BIN)/mypy --strict --explicit-package-bases $(wildcard studies/*.py studies/frame/*.py studies/fuzzing/*.py studies/house/*.py studies/race/*.py)

docs: $(DEV)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

# The pictures in README and docs, taken anew from the demo's reports; needs Chromium.
pictures: $(DEV)
	$(BIN)/python docs/pictures.py

clean:
	rm -rf $(VENV) site $(OUT) $(OUT)-custodian .mypy_cache .ruff_cache .pytest_cache .hypothesis

# A stamp is younger than pyproject.toml when its install is up to date, so a second run is quick.
$(CORE): pyproject.toml
	@python="$$($(FIND_PYTHON))"; \
	if [ -z "$$python" ]; then \
		echo "Penstock needs Python 3.11 or newer; install one, or say which with 'make PYTHON=/path/to/python3.11'." >&2; \
		exit 1; fi; \
	[ -x $(BIN)/python ] || { echo "Creating $(VENV) with $$($$python --version)"; $$python -m venv $(VENV); }
	@echo "Installing Penstock in $(VENV) (a few minutes the first time)"
	@$(BIN)/python -m pip install --quiet --quiet --disable-pip-version-check --editable .
	@touch $@

$(DEV): $(CORE)
	@echo "Installing the tools for tests and documentation"
	@$(BIN)/python -m pip install --quiet --quiet --disable-pip-version-check --editable '.[dev,docs]'
	@touch $@
