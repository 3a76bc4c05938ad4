# Everything sets itself up: `make demo` and `make test` need Python 3.11+, git and make, nothing else.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SYSTEM_UV := $(shell command -v uv 2>/dev/null)
UV := $(or $(SYSTEM_UV),$(BIN)/uv)

.PHONY: setup demo test slow mutants bench check lint types contracts pages lock clean

setup: $(VENV)/.ready

# Where the machine has no uv, pip puts one into the virtual environment. A set-up that broke off is taken up again.
$(VENV)/.ready: requirements/dev.txt requirements/uv.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed; set PYTHON=/path/to/it") if sys.version_info < (3, 11) else None'
ifeq ($(SYSTEM_UV),)
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/uv.txt
else
	@$(UV) venv --quiet --allow-existing --python $(PYTHON) $(VENV)
endif
	@$(UV) pip install --quiet --python $(BIN)/python --require-hashes -r requirements/dev.txt
	@$(UV) pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation -e .
	@touch $@

demo: setup
	@$(BIN)/python -m davenport demo

# Two at a time; a file stays with one worker, so that what it sets up is set up once.
test: setup
	$(BIN)/python -m pytest -n 2 --dist loadfile

slow: setup
	$(BIN)/python -m pytest -m slow

# Breaks each rule of memory in a copy of the tree and shows that a test citing it fails there. RULES="P7 D9": only these.
mutants: setup
	$(BIN)/python -m tests.mutants.run $(RULES)

# Takes a quarter of an hour and 5 GB in BENCH, which it removes again. Measure on a machine that does nothing else.
BENCH ?= $(or $(TMPDIR),/tmp)/davenport-bench

bench: setup
	$(BIN)/python -m bench.recall
	$(BIN)/python -m bench.curves
	$(BIN)/python -m bench.document_recall
	$(BIN)/python -m bench.scopes --folder $(BENCH)/scopes
	$(BIN)/python -m bench.dialogue
	$(BIN)/python -m bench.offline_extractor
	$(BIN)/python -m bench.turn --folder $(BENCH)/100000
	$(BIN)/python -m bench.turn --stored 1000000 --folder $(BENCH)/1000000
	$(BIN)/python -m bench.start --folder $(BENCH)/1000000
	$(BIN)/python -m bench.memory --folder $(BENCH)/1000000
	@rm -rf $(BENCH)/scopes $(BENCH)/100000 $(BENCH)/1000000

check: lint types contracts

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: setup
	$(BIN)/mypy

contracts: setup
	$(BIN)/lint-imports

pages: setup
	$(BIN)/python -m davenport.pages
	$(BIN)/python -m tests.mutants.run --write

lock: setup
	$(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes requirements/uv.in -o requirements/uv.txt
	$(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes requirements/run.in -o requirements/run.txt
	$(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes -c requirements/run.txt requirements/dev.in -o requirements/dev.txt

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache build *.egg-info
