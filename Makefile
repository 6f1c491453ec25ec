# The front door. `make` alone lists the doors.
# Needs GNU make and a Python of at least 3.11; everything else goes into .venv.

PYTHON ?= $(shell for candidate in python3 python3.13 python3.12 python3.11 python; do \
	if $$candidate -c 'import sys, venv; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then \
	echo $$candidate; break; fi; done)
JOBS ?= 2
ARGS ?=

BIN := .venv/bin
# Test workers are processes; BLAS and OpenMP threads on top of them only get in each other's way.
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1

# Where an environment forbids bytecode, every worker and every command that a test starts compiles all over again.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help demo quick test test-studies test-validity test-machines test-minimum test-newest test-llm validity simulations lint format types arrows examples outputs headlines docs bench conformance package fill-in clean distclean

help: ## list the targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-14s %s\n", $$1, $$2}'

demo: .venv/.core ## make demo-report.html from bundled real predictions
	@$(BIN)/credibly demo --out demo-report.html --force

# $(call tests,NAME,WHAT): the results stay in build/NAME.xml, for tools/summarise_tests.py.
tests = @mkdir -p build && rm -f build/$(1).xml; \
	$(ONE_THREAD) $(BIN)/python -m pytest -n $(JOBS) --dist worksteal --junitxml=build/$(1).xml $(2) $(ARGS)

quick: .venv/.dev ## before a commit: format, lint rules, the tests that are not slow
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(call tests,quick,-m "not slow and not validity and not browser")

test: .venv/.dev ## run the tests of the package (ARGS="-k name" goes to pytest)
	$(call tests,tests,tests --ignore=tests/validity)

test-studies: .venv/.dev ## run the tests of the papers' experiments
	$(call tests,studies,studies/tests)

test-validity: .venv/.dev ## run the seeded simulations of error rates
	$(call tests,validity,tests/validity)

test-machines: .venv/.dev ## run all tests as other processors would (ARGS goes to pytest)
	$(BIN)/python tools/test_machines.py $(ARGS)

# Old packages beside new ones warn of each other's deprecations, which no line here can mend.
test-minimum: .venv-minimum/.ready ## run the tests that need no extra at the oldest versions promised
	@mkdir -p build
	$(ONE_THREAD) .venv-minimum/bin/python -m pytest tests -n $(JOBS) --dist worksteal -W ignore::DeprecationWarning $(ARGS)
	.venv-minimum/bin/credibly demo --out build/minimum-demo.html --force

test-newest: .venv-newest/.ready ## run all tests with the newest version of every package
	$(ONE_THREAD) .venv-newest/bin/python -m pytest -n $(JOBS) --dist worksteal $(ARGS)

test-llm: .venv/.dev .venv-llm/.ready ## write real logs of lm-evaluation-harness and Inspect, and read them
	.venv-llm/bin/python tools/write_llm_logs.py build/llm
	$(ONE_THREAD) $(BIN)/python tools/write_llm_logs.py build/llm --check

validity: .venv/.dev ## measure size, power and coverage of all tests and intervals, write docs/validity.md
	$(BIN)/python tools/validity_board.py --processes $(JOBS) $(ARGS)

simulations: .venv/.dev ## the larger simulations behind single guarantees (hours)
	CREDIBLY_VALIDITY=full $(ONE_THREAD) $(BIN)/python -m pytest -n $(JOBS) --dist worksteal -m validity $(ARGS)

lint: .venv/.dev ## format, lint rules, public docstrings
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/python tools/check_docstrings.py
	$(BIN)/python tools/check_docstrings.py credibly_studies.simulate
	$(BIN)/python tools/check_docstrings.py credibly_studies

format: .venv/.dev ## rewrite the files so that `make lint` is content
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

types: .venv/.dev ## strict typing of src and studies/src
	$(BIN)/mypy

arrows: .venv/.dev ## imports between the rooms point the right way
	$(BIN)/tach check

examples: .venv/.dev ## run the examples in README, docs and docstrings
	$(BIN)/python -W error tools/run_examples.py
	$(BIN)/python -W error tools/run_examples.py --package credibly_studies

outputs: .venv/.dev ## what docs pages print is what their examples print now
	$(BIN)/python tools/make_outputs.py --check

headlines: .venv/.dev ## diagnose models with known faults, write docs/headlines.md
	$(ONE_THREAD) $(BIN)/python benchmarks/headlines/board.py --jobs $(JOBS) --calm 400 $(ARGS)

docs: .venv/.dev ## build the documentation in build/docs, warnings are errors
	$(BIN)/sphinx-build -q -W --keep-going -b html docs build/docs

bench: .venv/.bench ## time credibly against other packages
	$(BIN)/python benchmarks/run.py $(ARGS)

conformance: .venv-conformance/.ready ## judge other packages by the vectors, write the verdicts, try both adapters
	$(ONE_THREAD) .venv-conformance/bin/python -m conformance.judge
	.venv-conformance/bin/python -m pytest -q -c /dev/null --rootdir conformance -p no:cacheprovider conformance/test_adapters.py

package: .venv-package/.ready ## build the package twice, check it, install it into empty environments and try every verb
	.venv-package/bin/python tools/try_package.py

fill-in: ## write addresses and the maintainer in place of the placeholders (tools/fill_in.py says how)
	$(PYTHON) tools/fill_in.py --repository '$(REPOSITORY)' --documentation '$(DOCUMENTATION)' \
	--maintainer '$(MAINTAINER)' --email '$(EMAIL)'

clean: ## remove what the targets wrote, but not .venv
	rm -rf build dist docs/api demo-report.html .hypothesis .mypy_cache .pytest_cache .ruff_cache .tach
	find src studies tests tools docs -name __pycache__ -type d -prune -exec rm -rf {} +

distclean: clean ## and the environments too
	rm -rf .venv .venv-conformance .venv-llm .venv-minimum .venv-newest .venv-package

# A Python without pip leaves half an environment behind; the next run must not take it for a whole one.
.venv/bin/python:
	@test -n "$(PYTHON)" || { \
	echo "credibly needs Python 3.11 or newer with the venv module, and none was found on PATH." >&2; \
	echo "Install one, or name it: make $(MAKECMDGOALS) PYTHON=/path/to/python3" >&2; exit 1; }
	@echo "Creating .venv with $$($(PYTHON) --version)"
	@$(PYTHON) -m venv .venv || { rm -rf .venv; exit 1; }

# $(call install,EXTRAS,MORE): pip's own words are kept in a log and shown when it fails.
install = @echo "Installing credibly$(1) into .venv (log: .venv/install.log)"; \
	$(BIN)/python -m pip install --disable-pip-version-check -c constraints.txt -e '.$(1)' $(2) \
	>.venv/install.log 2>&1 || { tail -n 20 .venv/install.log >&2; exit 1; }

.venv/.core: pyproject.toml constraints.txt | .venv/bin/python
	$(call install,)
	@touch $@

.venv/.dev: pyproject.toml studies/pyproject.toml constraints.txt | .venv/bin/python
	$(call install,[dev],-e ./studies)
	@touch $@ .venv/.core

.venv/.bench: pyproject.toml studies/pyproject.toml constraints.txt | .venv/bin/python
	$(call install,[bench],-e ./studies)
	@touch $@ .venv/.core

# $(call environment,FOLDER,PIP ARGUMENTS): one that another target than `make test` needs, made anew.
environment = @test -n "$(PYTHON)" || { echo "no Python 3.11 or newer on PATH; set PYTHON" >&2; exit 1; }; \
	echo "Creating $(1) (log: $(1)/install.log)"; rm -rf $(1); $(PYTHON) -m venv $(1) || exit 1; \
	$(1)/bin/python -m pip install --disable-pip-version-check $(2) >$(1)/install.log 2>&1 \
	|| { tail -n 20 $(1)/install.log >&2; exit 1; }

.venv-minimum/.ready: pyproject.toml tools/minimum_versions.py
	$(call environment,.venv-minimum,-e . $$($(PYTHON) tools/minimum_versions.py --test-tools))
	@touch $@

# PyTorch stays at the release of constraints.txt, of which one may have the small CPU build at hand.
.venv-newest/.ready: pyproject.toml studies/pyproject.toml constraints.txt
	$(call environment,.venv-newest,$$(grep '^torch==' constraints.txt) -e '.[dev]' -e ./studies)
	@touch $@

# PyTorch first, at the release of constraints.txt: pip would else take the CUDA build for lm-eval.
.venv-llm/.ready: constraints.txt
	$(call environment,.venv-llm,$$(grep '^torch==' constraints.txt))
	.venv-llm/bin/pip install -q lm-eval inspect-ai
	@touch $@

.venv-conformance/.ready: conformance/requirements.txt pyproject.toml
	$(call environment,.venv-conformance,-r conformance/requirements.txt -e .)
	@.venv-conformance/bin/python -m pip install --disable-pip-version-check -q --no-deps probly==0.3.0
	@touch $@

.venv-package/.ready:
	$(call environment,.venv-package,build twine)
	@touch $@
