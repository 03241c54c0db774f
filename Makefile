# make run and make test do all the set-up they need.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check -q
PORT ?= 8000

.PHONY: run test test-integrations layoutbench fuzz lint types bench bench-peers bench-tiles bench-reader bench-cxx load targets sass golden corpus diagnoses gpu-verify wheel release help clean browser compiler hooks

help:  ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

NO_PICTURES := echo "PNG and PDF are not available here (glibc 2.35 or newer is needed); everything else is."

$(VENV)/.run: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(PIP) install -c constraints.txt -e '.[web,pictures]' || { $(NO_PICTURES); $(PIP) install -c constraints.txt -e '.[web]'; }
	@touch $@

# One installation has all that `make run` needs, too. pycute (in nvidia-cutlass) and ptxas (in nvidia-cuda-nvcc) are
# test tools: their own requirements are not needed.
$(VENV)/.test: pyproject.toml constraints.txt tests/tools.txt
	$(PYTHON) -m venv $(VENV)
	$(PIP) install -c constraints.txt -e '.[pictures,test,dev]' || { $(NO_PICTURES); $(PIP) install -c constraints.txt -e '.[test,dev]'; }
	$(PIP) install --no-deps -r tests/tools.txt
	@touch $(VENV)/.run $@

# The headless shell opens pages in half the time of a whole Chromium, which makes a window for each; either will do.
APT := DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends
browser:
	@command -v chromium-headless-shell >/dev/null || { \
	  [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update -qq && $(APT) chromium-headless-shell fonts-dejavu-core >/dev/null; } || \
	  command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null || { \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then $(APT) chromium fonts-dejavu-core >/dev/null; \
	  else echo "No Chromium found and not root: the browser tests will be skipped."; fi; }

# Tests build generated code with a host compiler and execute it.
compiler:
	@command -v g++ >/dev/null || command -v c++ >/dev/null || command -v clang++ >/dev/null || { \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends g++ libc6-dev >/dev/null; \
	  else echo "No C++ compiler found and not root: the tests that execute generated code will be skipped."; fi; }

run: $(VENV)/.run  ## install what is missing and serve http://127.0.0.1:8000 (PORT=…)
	$(BIN)/lanescope serve --port $(PORT)

# The tests start many processes: each would compile the whole project where Python keeps no bytecode.
test: export PYTHONDONTWRITEBYTECODE =
test: $(VENV)/.test browser compiler  ## install what the tests need and run them (LANESCOPE_THOROUGH=1: every row of their tables, as .ci/run does)
	@$(BIN)/python -m compileall -q app layouts
	$(BIN)/python -m pytest $(ARGS)

# The tools that people use Lanescope in: an MCP client, a language client, sphinx-build, mkdocs, JupyterLab.
$(VENV)/.integrations: $(VENV)/.test
	$(PIP) install -c constraints.txt -e '.[integrations]'
	@touch $@

test-integrations: export PYTHONDONTWRITEBYTECODE =
test-integrations: $(VENV)/.integrations browser compiler  ## run agents, editors, documents and notebooks against it
	$(BIN)/python -m pytest tests/integrations --dist loadfile $(ARGS)

layoutbench: $(VENV)/.integrations  ## ask COMMAND (our own tools if left out) 300 questions about layouts, and print its score
	@$(BIN)/python -m tests.layoutbench.run $(COMMAND)

fuzz: $(VENV)/.test browser compiler  ## ask every route questions made from its own document (N=… each), and what make test takes samples of whole
	LANESCOPE_FULL=1 LANESCOPE_FUZZ=$(or $(N),500) $(BIN)/python -m pytest -q tests/test_fuzz.py
	LANESCOPE_FULL=1 $(BIN)/python -m pytest -q $$(grep -lE "take_sample|take_rows|sample=|pytest.mark.thorough|choose_count|is_chosen|FULL|tests\.checked" tests/test_*.py tests/browser/test_*.py)

lint: $(VENV)/.test  ## ruff
	$(BIN)/ruff check . && $(BIN)/ruff format --check -q .

types: $(VENV)/.test  ## mypy, strict
	$(BIN)/python -m tests.check_types

hooks: $(VENV)/.test  ## have every commit checked first: ruff, its format, mypy, no long lines
	$(BIN)/pre-commit install

bench: $(VENV)/.test browser  ## every figure the project promises, measured
	$(BIN)/python -m pytest -m bench --benchmark-enable --benchmark-only -p no:randomly -o addopts='' tests/bench -q
	$(BIN)/python -m tests.bench.processes

bench-peers: $(VENV)/.test browser  ## the same pictures by us and by tensor-layouts (own .venv-peers); writes docs/benchmarks.md
	$(BIN)/python -m tests.bench.peers

bench-tiles: $(VENV)/.test  ## the maps of a whole tile by us, by pycute and by tensor-layouts; writes docs/benchmarks.md
	$(BIN)/python -m tests.bench.tiles

bench-reader: $(VENV)/.test  ## read every text of the corpus and 64 KiB of the worst; writes docs/benchmarks.md
	$(BIN)/python -m tests.bench.reader

bench-cxx: $(VENV)/.test compiler  ## C++ that builds descriptors, read and compiled with g++; writes docs/benchmarks.md (a minute)
	$(BIN)/python -m tests.cxx_programs -w

load: $(VENV)/.test  ## a server under load and under attack, on loopback; writes docs/benchmarks.md (minutes)
	$(BIN)/python -m tests.bench.load

targets: $(VENV)/.test  ## assemble every candidate, or those of ONLY="family or beginning of a text", and rewrite layouts/ptx/table/targets.json
	$(BIN)/python -m tests.ptxas.sweep $(ONLY)

isa: $(VENV)/.test  ## WHEEL=nvidia_cuda_nvcc-….whl: what its ptxas adds, drops and changes, as proposed rows (an hour)
	$(BIN)/python -m tests.ptxas.releases $(WHEEL) $(FAMILIES)

sass: $(VENV)/.test  ## assemble every variant (ONLY=… some), disassemble it and rewrite layouts/ptx/table/sass.json (minutes)
	$(BIN)/python -m tests.ptxas.sass $(ONLY)

golden: $(VENV)/.test browser  ## rewrite tests/golden: pictures, pages, transcripts, openapi.json; and the README's screenshot
	LANESCOPE_GOLDEN=write $(BIN)/python -m pytest -n 0 -q tests/test_golden.py tests/test_pages.py tests/test_transcripts.py tests/test_openapi.py tests/browser/test_screenshot.py

corpus: $(VENV)/.test  ## what check verifies in REPOS (checked-out repositories), and finds of planted mistakes; writes docs/check.md
	$(BIN)/python -m tests.check_corpus --write --planted $(REPOS)

diagnoses: $(VENV)/.test  ## what the verifier says of 26,000 wrong descriptors; writes docs/diagnoses.md (minutes)
	$(BIN)/python -m tests.verifier_study

gpu-verify: $(VENV)/.run  ## run everything on the GPU of this machine and write layouts/evidence/
	$(BIN)/lanescope gpu verify --write

wheel: $(VENV)/.test  ## build dist/*.whl
	$(PIP) wheel --no-deps -w dist .

DIST ?= dist
release: $(VENV)/.integrations  ## what is published: dist/*.tar.gz, the wheel made of it, and sbom.json; the same bytes from the same commit
	rm -f $(DIST)/lanescope-* $(DIST)/sbom.json
	$(BIN)/python -m tests.build_release $(DIST)

clean:  ## remove what was built
	rm -rf $(VENV) .venv-peers dist build *.egg-info .pytest_cache .mypy_cache .ruff_cache test-output
