# Everything sets itself up: a fresh machine needs python3 (with venv), make, gcc and git.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.ready
JOBS ?= 2

.PHONY: setup run test check verify bench clean

setup: $(STAMP)

# the C header of the clamp is compiled in the tests; cc is fetched only where it is missing
$(STAMP): requirements.lock pyproject.toml
	command -v cc >/dev/null || { apt-get update && apt-get install --yes --no-install-recommends gcc libc6-dev; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --requirement requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	touch $@

run: setup
	$(BIN)/passivo run

check: setup
	$(BIN)/ruff check src tests bench verify examples
	$(BIN)/ruff format --check src tests bench verify examples
	$(BIN)/pyright
	$(BIN)/lint-imports

test: setup check
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal

verify: setup
	$(BIN)/python -m verify --jobs $(JOBS)
	$(BIN)/python -m verify.drops

bench: setup
	$(BIN)/python -m bench

clean:
	rm -rf .venv build .pytest_cache .ruff_cache .hypothesis
