# Two commands: `make demo` shows the product, `make test` proves it. Both make their own
# virtual environment and need only Python and a C++ compiler.

PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
SOURCES = pyproject.toml CMakeLists.txt $(wildcard plugmem_core/kernels/*.?pp)

.PHONY: demo test test-slow fuzz check format notebooks sanitize clean

demo: $(VENV)/.demo
	$(BIN)/python scripts/demo.py $(if $(DOCS),--docs "$(DOCS)") $(if $(ASK),--ask "$(ASK)")

test: check
	$(BIN)/pytest

# What each of them tried is in the summary at the end.
test-slow: $(VENV)/.dev
	$(BIN)/pytest -m slow

# Thousands of random inputs for each test; any test may be named: make fuzz FUZZ="-k filters".
fuzz: $(VENV)/.dev
	$(BIN)/pytest tests/test_fuzz*.py --hypothesis-profile=fuzz --timeout=0 --hypothesis-show-statistics $(FUZZ)

check: $(VENV)/.dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	# Tests pass wrong types on purpose, and fail by themselves on an unexpected None.
	$(BIN)/mypy tests --disable-error-code=arg-type --disable-error-code=union-attr
	$(BIN)/lint-imports

format: $(VENV)/.dev
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

notebooks: $(VENV)/.dev
	$(BIN)/python scripts/notebooks.py

sanitize: $(VENV)/.dev
	PYTHON=$(BIN)/python scripts/sanitize.sh

$(VENV)/.demo: $(SOURCES)
	$(call install,.[langchain])
	touch $@

$(VENV)/.dev: $(SOURCES)
	$(call install,.[dev])
	touch $@ $(VENV)/.demo

define install
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '$(1)'
endef

clean:
	rm -rf $(VENV) build dist
