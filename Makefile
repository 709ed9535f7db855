# make demo    set up and show what polyseme does         make lint    ruff and mypy
# make test    set up and run the tests, not slow ones    make bench   run the benchmarks
# make chaos   kill and starve every long job             make fuzz    read mutants of every file (MINUTES=10)
# make test-oldest    the same with the oldest packages that pyproject.toml allows; on Linux 6 GB, most of it CUDA, unless
#                     PIP_EXTRA_INDEX_URL=https://download.pytorch.org/whl/cpu
#
# Everything is installed into .venv, once: again only when pyproject.toml, constraints.txt or the kernel have changed.
# Another Python: make demo PYTHON=python3.12

PYTHON ?= python3
VENV := .venv
READY := $(VENV)/.ready
DEMO_READY := $(VENV)/.ready-demo
BENCHMARKS := serve
DATA_BENCHMARKS := engine_speed precision embed today embed_job scale train_speed pretrain
PYTEST := pytest --numprocesses logical --maxprocesses 8 --dist worksteal
SHARED := $(or $(POLYSEME_SHARED),../shared)

.DEFAULT_GOAL := help
.PHONY: bench chaos clean demo docs fuzz help lint test test-oldest

help:
	@echo 'make demo    set up .venv and show what polyseme does'
	@echo 'make test    set up .venv and run the tests, without the slow ones (pytest -m slow)'
	@echo 'make test-oldest   the same with the oldest packages that pyproject.toml allows, in .venv-oldest'
	@echo 'make lint    check style and types: ruff, mypy --strict'
	@echo 'make docs    build the documentation as a site in site/, strictly: links, anchors, no request to other servers'
	@echo 'make bench   run the benchmarks; results go to benchmarks/results'
	@echo 'make chaos   kill, starve and disturb every long job; results go to chaos/results and docs/guarantees.md'
	@echo 'make fuzz    read mutants of every kind of file for MINUTES=10; what fails is saved for the tests'
	@echo 'make clean   remove .venv and what was built'
	@echo 'Another Python: make demo PYTHON=python3.12'

demo: $(if $(wildcard $(READY)),$(READY),$(DEMO_READY))
	@echo '==> polyseme demo'
	@$(VENV)/bin/polyseme demo

test: $(READY)
	@echo '==> running the tests (not the slow ones; what needs data beside the checkout is skipped where it is missing)'
	@$(VENV)/bin/python -m $(PYTEST)

test-oldest:
	@echo '==> setting up .venv-oldest (a few minutes: PyTorch is large)'
	@test -x .venv-oldest/bin/python || $(PYTHON) -m venv .venv-oldest
	@$(PYTHON) tests/oldest.py > .venv-oldest/pins.txt
	@.venv-oldest/bin/python -m pip install --disable-pip-version-check --progress-bar off \
	  --constraint .venv-oldest/pins.txt --editable '.[dev]'
	@echo '==> running the tests with the oldest packages'
	@.venv-oldest/bin/python -m $(PYTEST)

lint: $(READY)
	@echo '==> ruff check'
	@$(VENV)/bin/ruff check .
	@echo '==> ruff format --check'
	@$(VENV)/bin/ruff format --check .
	@echo '==> mypy --strict'
	@$(VENV)/bin/mypy

docs: $(READY)
	@$(VENV)/bin/python -c 'import mkdocstrings' 2>/dev/null || $(VENV)/bin/python -m pip install \
	  --disable-pip-version-check --progress-bar off --constraint constraints.txt --editable '.[dev,docs]'
	@echo '==> mkdocs build --strict'
	@NO_MKDOCS_2_WARNING=1 $(VENV)/bin/mkdocs build --strict --quiet && echo 'the site is in site/; to read it with search: python3 -m http.server -d site'

bench: $(READY)
	@for name in $(BENCHMARKS); do \
	  echo "==> benchmarks/$$name.py"; $(VENV)/bin/python benchmarks/$$name.py || exit 1; \
	done
	@for name in $(DATA_BENCHMARKS); do \
	  if test -d $(SHARED)/data; then \
	    echo "==> benchmarks/$$name.py"; $(VENV)/bin/python benchmarks/$$name.py || exit 1; \
	  else \
	    echo "==> benchmarks/$$name.py is left out: it needs the data sets, looked for in $(SHARED)/data"; \
	  fi; \
	done

MINUTES ?= 10

chaos: $(READY)
	@PYTHONPATH=.:tests $(VENV)/bin/python -m chaos.faults --kills 20 && PYTHONPATH=.:tests $(VENV)/bin/python -m chaos.page

fuzz: $(READY)
	@PYTHONPATH=.:tests $(VENV)/bin/python -m chaos.fuzz --minutes $(MINUTES) --seed $$(date +%s) && \
	  PYTHONPATH=.:tests $(VENV)/bin/python -m chaos.page

clean:
	rm -rf $(VENV) .venv-oldest build dist site demo-output .pytest_cache .mypy_cache .ruff_cache .hypothesis

VERSIONS := pyproject.toml constraints.txt hatch_build.py $(wildcard src/polyseme/kernel/*.[ch])

# What the demo needs: no PyTorch.
$(DEMO_READY): EXTRAS := plots
$(DEMO_READY): TOLD := a minute the first time
# What everything needs.
$(READY): EXTRAS := dev
$(READY): TOLD := a few minutes the first time: PyTorch is large

$(DEMO_READY) $(READY): $(VERSIONS)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "polyseme needs Python 3.11 or later, but $(PYTHON) is another; try: make PYTHON=python3.12"; exit 1; }
	@echo '==> setting up $(VENV) ($(TOLD))'
	@test -x $(VENV)/bin/python || $(PYTHON) -m venv $(VENV)
	@$(VENV)/bin/python -m pip install --disable-pip-version-check --progress-bar off \
	  --constraint constraints.txt --editable '.[$(EXTRAS)]'
	@touch $@
