# Everything runs in .venv; nothing is installed anywhere else.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
TEST_EXTRAS := pandas,stats,excel

.PHONY: help demo test test-data test-extras test-hostile golden rpart chromium lint types bench bench-zoo docs clean

help: ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

$(VENV)/demo.stamp: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade pip
	$(BIN)/pip install --quiet --compile --editable '.[stats]'
	$(BIN)/python -m compileall -q src
	@touch $@

$(VENV)/test.stamp: pyproject.toml $(VENV)/demo.stamp
	$(BIN)/pip install --quiet --compile --editable '.[$(TEST_EXTRAS)]' --group test
	@touch $@

demo: $(VENV)/demo.stamp ## set up, then split, synthesize and assess real microdata
	$(BIN)/understudy demo

test: $(VENV)/test.stamp lint types ## set up, then lint, types and all quick tests
	$(BIN)/pytest -n 2 --dist worksteal

test-data: $(VENV)/test.stamp ## the quick tests on data sets that docs/data.md lists
	$(BIN)/pytest -m 'data and not slow' -n 2 --dist loadscope

test-extras: $(VENV)/test.stamp rpart chromium ## the slow tests and those that need heavy extras
	$(BIN)/pytest -m slow -n 2 --dist loadgroup

golden: $(VENV)/test.stamp ## compare all findings, samples and pages of six tables with what was written down
	cd tests && ../$(BIN)/python -m golden.record

test-hostile: $(VENV)/test.stamp ## malformed input for every command, kills, full disks; about half an hour
	cd tests && ../$(BIN)/python -m hostile.run

rpart: # the oracle of our trees; without root or a sudo that asks nothing, its test is skipped
	@command -v Rscript >/dev/null || { \
	  root=$$([ "$$(id -u)" = 0 ] || echo sudo -n); $$root true 2>/dev/null \
	  && $$root apt-get update -qq \
	  && $$root apt-get install -y -qq --no-install-recommends r-base-core r-cran-rpart; \
	} || echo 'R cannot be installed here'

chromium: # opens the report in its tests; where it cannot be installed they are skipped
	@command -v chromium >/dev/null || command -v google-chrome >/dev/null || { \
	  root=$$([ "$$(id -u)" = 0 ] || echo sudo -n); $$root true 2>/dev/null \
	  && $$root apt-get update -qq \
	  && $$root apt-get install -y -qq --no-install-recommends chromium; \
	} || echo 'Chromium cannot be installed here'

lint: $(VENV)/test.stamp ## ruff and the layers of the design
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

types: $(VENV)/test.stamp ## mypy, strict
	$(BIN)/mypy

$(VENV)/bench.stamp: pyproject.toml $(VENV)/test.stamp
	$(BIN)/pip install --quiet --compile --group bench
	@touch $@

bench: $(VENV)/bench.stamp ## speed and memory, as ratios within one run
	$(BIN)/python benchmarks/run.py

$(VENV)/zoo.stamp: pyproject.toml $(VENV)/test.stamp
	$(BIN)/pip install --quiet --compile --group zoo
	@touch $@

bench-zoo: $(VENV)/zoo.stamp ## the default method on public tables, resumable; hours
	$(BIN)/python benchmarks/zoo.py --out .zoo $(ZOO)

docs: $(VENV)/test.stamp ## write the generated pages
	$(BIN)/python docs/build.py

clean: ## remove the virtual environment and caches
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
