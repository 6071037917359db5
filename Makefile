# `make demo` shows the main job, `make test` runs every test. Each sets up all that it needs in .venv; that takes
# some minutes the first time and nothing afterwards. Needed: Python 3.10 or newer, Rust, a C compiler.

PYTHON ?= python3
BIN := .venv/bin
RUST := Cargo.toml Cargo.lock $(shell find crates -name '*.rs' -o -name Cargo.toml)

.PHONY: demo test lint bench bless clean

demo: .venv/built
	$(BIN)/bentpipe compare s1 --cc reno,newreno,sack,tahoe --plot demo.png
	@echo "The figure is in demo.png."

test: lint
	cargo test
	$(BIN)/pytest

lint: .venv/built
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- --deny warnings
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy

bench:
	cargo bench --package bentpipe-sim --bench cases

# Rewrites recorded results and generated files; the diff is for review.
bless: .venv/built
	BLESS=1 cargo test
	BLESS=1 $(BIN)/pytest

clean:
	rm -rf .venv target demo.png

.venv/built: .venv/tools $(RUST)
	@echo "Building: some minutes the first time."
	@$(BIN)/maturin develop --uv --release --quiet --extras test > .venv/log 2>&1 || { cat .venv/log; exit 1; }
	@touch $@

.venv/tools: pyproject.toml
	@command -v cargo > /dev/null || { echo "Rust is missing: install it with rustup."; exit 1; }
	@$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 10))" \
	    || { echo "Python 3.10 or newer is needed: make PYTHON=..."; exit 1; }
	@$(PYTHON) -m venv --clear .venv || $(PYTHON) -m virtualenv --quiet --clear .venv \
	    || { rm -rf .venv; echo "Python cannot make a .venv: install its venv module (python3-venv) or virtualenv."; exit 1; }
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	@$(BIN)/uv pip install --quiet --python $(BIN)/python "maturin>=1.9,<2"
	@touch $@
