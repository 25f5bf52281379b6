# make demo    run three algorithms on real graphs         make lint    ruff and mypy
# make test    lint, then every test                       make bench   benchmarks beside rivals
# make clean   remove what these made
#
# Each makes the environment it needs in .venv, from any Python of at least 3.11:
# make PYTHON=/path/to/python3.12 demo

.PHONY: demo test lint bench clean
.DELETE_ON_ERROR:

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --no-input --quiet
RECENT := import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))

demo: $(VENV)/demo
	$(BIN)/python -m dgraph.demo

# Bytecode is written beforehand: where PYTHONDONTWRITEBYTECODE is set, as in many containers,
# each of the hundreds of processes of the tests would compile every module again, for a second.
# Files of tests run in the sequence that tests/conftest.py gives them: the slow ones first.
test: lint
	$(BIN)/python -m compileall -q algorithms benchmarks dgraph tests topology
	$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder

lint: $(VENV)/test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/bench
	$(BIN)/python -m benchmarks

clean:
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -prune -exec rm -rf {} +

# Stamps: an environment is installed again only when pyproject.toml has changed.
$(VENV)/demo: EXTRAS := networkx
$(VENV)/test: EXTRAS := test,dev
$(VENV)/bench: EXTRAS := bench,networkx

$(VENV)/demo $(VENV)/test $(VENV)/bench: pyproject.toml $(VENV)/made
	@echo "installing dgraph[$(EXTRAS)] into $(VENV)"
	@$(PIP) install --editable '.[$(EXTRAS)]'
	@touch $@

$(VENV)/made:
	@for python in $(or $(PYTHON),python3.13 python3.12 python3.11 python3 python); do \
	    if $$python -c '$(RECENT)' 2>/dev/null; then \
	        echo "making $(VENV) with $$($$python --version)"; \
	        $$python -m venv --clear $(VENV) && touch $@; exit; \
	    fi; \
	done; \
	echo 'found no Python >= 3.11 with venv and ensurepip (on Debian: apt install' \
	    'python3-venv); install one, or name it: make PYTHON=/path/to/python3' >&2; \
	exit 1
