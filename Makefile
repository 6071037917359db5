# `make demo` shows the main job, `make test` runs the tests, and `make test-all` those that take minutes, too. Each sets up
# all that it needs in .venv; that takes some minutes the first time and nothing afterwards. Needed: Python 3.10 or newer,
# Rust, a C compiler.

PYTHON ?= python3
# Of the extension in .venv: `dev` shares what is built with the Rust tests, `release` is what users have.
PROFILE ?= dev
BIN := .venv/bin
# The versions that the tests were last run with.
export UV_CONSTRAINT := constraints.txt
# Python keeps what it compiles, whatever the environment says: tests start hundreds of processes, and compiling libraries again
# takes each of them longer than its work.
unexport PYTHONDONTWRITEBYTECODE
export PYTHONPYCACHEPREFIX := $(CURDIR)/target/pycache
RUST := Cargo.toml Cargo.lock $(shell find crates -name '*.rs' -o -name Cargo.toml)
# Tests that take no time; after a change of Rust, clippy speaks for the rest.
QUICK := python tests/test_statistics.py tests/test_scenario.py tests/test_rooms.py tests/test_release.py tests/test_words.py

LOWEST := .venv/lowest
LOWEST_PYTHON ?= 3.10
# All that touches a library, in the package and in its results.
LOWEST_TESTS := $(patsubst %,tests/test_%.py,cli cli_help compare lab metrics mix notebook overrides own report run sky \
    statistics sweep sweep_cluster terminal why)

.PHONY: demo test test-all test-lowest coverage check lint mutants bench bless release wheel lock docs web types clean

demo: .venv/built
	$(BIN)/bentpipe compare s1 --cc reno,newreno,sack,tahoe --plot demo.png
	@echo "The figure is in demo.png."

test: lint
	cargo test
	$(BIN)/pytest --numprocesses auto --dist worksteal

# Also the tests of tests/long.txt, and more cases of others. Before a release, and each week.
test-all: export BENTPIPE_ALL := 1
test-all: test

# With the lowest versions of all libraries that pyproject.toml names, on the lowest Python: what it promises to work with.
test-lowest: .venv/built
	@$(BIN)/uv venv --quiet --clear --python $(LOWEST_PYTHON) $(LOWEST)
	@UV_CONSTRAINT= $(BIN)/uv pip install --quiet --python $(LOWEST) --resolution lowest-direct \
	    --requirements pyproject.toml --group test
	@echo $(CURDIR)/python > $$($(LOWEST)/bin/python -c "import site; print(site.getsitepackages()[0])")/bentpipe.pth
	$(LOWEST)/bin/python -m pytest -W ignore::DeprecationWarning --numprocesses auto --dist worksteal $(LOWEST_TESTS)

# Lines and branches of the package that tests reach, also in the processes that they start; the page is target/coverage.
coverage: .venv/built
	$(BIN)/pytest --numprocesses auto --dist worksteal --cov --cov-report=term:skip-covered --cov-report=html

# Seconds, while you work: formatting, lints, types, and the tests that take no time.
check: lint
	$(BIN)/pytest --quiet $(QUICK)

lint: .venv/built
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- --deny warnings
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/typos --config tools/words/typos.toml

# Small faults in the crates, all in one build: their tests must find each. Once per release.
mutants: .venv/tools
	$(BIN)/python -m tools.mutants

bench:
	cargo bench --package bentpipe-sim --bench cases

# Rewrites recorded results and generated files; the diff is for review.
bless: .venv/built
	BLESS=1 cargo test
	BLESS=1 $(BIN)/pytest

# As users have it: link-time optimisation, no assertions. For `python -m validation.NAME`, and wherever speed is measured.
release:
	@rm -f .venv/built
	@$(MAKE) --no-print-directory .venv/built PROFILE=release

# What is uploaded, tried where there is no compiler; see RELEASING.md.
wheel: .venv/tools
	.ci/wheel

# Newer versions of the Python libraries for the tests.
lock: .venv/tools
	UV_CONSTRAINT= $(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.10 --no-annotate \
	    --extra all --group dev --no-emit-package bentpipe \
	    --custom-compile-command "make lock" --output-file constraints.txt pyproject.toml

# The site, in `site`; a dead link fails. Draws the gallery: minutes. With DRAFT=1 it has no figures: seconds.
docs: .venv/built web
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# The simulator as a module for the page "Try it", if the compiler has the target (rustup target add wasm32-unknown-unknown).
web:
	@if [ -d "$$(rustc --print target-libdir --target wasm32-unknown-unknown)" ]; then \
	    cargo build --quiet --profile web --target wasm32-unknown-unknown --package bentpipe-web; \
	else echo "The compiler has no target wasm32-unknown-unknown: the site has no page to try bentpipe."; fi

# Types of the scripts of the studio and of the page. TypeScript is fetched by npx.
types:
	npx --yes --package typescript@5.9 tsc --project web

clean:
	rm -rf .venv target dist site demo.png

.venv/built: .venv/tools $(RUST)
	@echo "Building: some minutes the first time."
	@$(BIN)/maturin develop --uv --profile $(PROFILE) --quiet > .venv/log 2>&1 || { cat .venv/log; exit 1; }
	@touch $@

.venv/tools: pyproject.toml constraints.txt
	@command -v cargo > /dev/null || { echo "Rust is missing: install it with rustup."; exit 1; }
	@$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 10))" \
	    || { echo "Python 3.10 or newer is needed: make PYTHON=..."; exit 1; }
	@$(PYTHON) -m venv --clear .venv || $(PYTHON) -m virtualenv --quiet --clear .venv \
	    || { rm -rf .venv; echo "Python cannot make a .venv: install its venv module (python3-venv) or virtualenv."; exit 1; }
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	@$(BIN)/uv pip install --quiet --python $(BIN)/python "maturin>=1.9,<2" --group dev
	@touch $@
