# Targets are the verbs of this repository; `make help` lists them.

.DEFAULT_GOAL := help
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:

# Where the development cluster keeps binaries and state; docs/development-cluster.md lists all variables.
export SPADE_HOME ?= /var/lib/spade
# The system's certificates, for registries behind a company's proxy.
export UV_SYSTEM_CERTS ?= 1
# Set, it makes every process compile all that it imports again: for torch and Megatron 19 s instead of 7.
export PYTHONDONTWRITEBYTECODE :=
# Megatron-core and the images want 3.11; Debian's own is taken where several are installed.
PYTHON311 ?= $(firstword $(wildcard /usr/bin/python3.11) python3.11)
# Side by side in `make test`: one waits for the cluster most of the time.
PROCESSES ?= 3
BIN := .venv/bin
UV = $(firstword $(wildcard $(BIN)/uv) $(shell command -v uv) $(BIN)/uv)

help: ## This text
	@awk -F ':.*## ' '/^## /{print "\n" substr($$0,4)} /^[a-z-]+:.*## /{printf "  %-17s%s\n",$$1,$$2}' $(MAKEFILE_LIST)

## Start here
demo: install $(if $(filter current,$(CLUSTER)),deploy-current,deploy) ## Train the tiny model for four rollouts on this machine, from nothing (at most 40 minutes, then 10)
	$(if $(filter current,$(CLUSTER)),,eval "$$(cluster/kubeconfig)";) $(BIN)/spade run examples/mini.yaml

install: .venv/.installed ## Python environment in .venv with the `spade` command

.venv/.installed: constraints/dev.txt $(wildcard pyproject.toml)
	@command -v $(PYTHON311) >/dev/null || { echo "Python 3.11 is missing: apt-get install python3.11 python3.11-venv"; exit 1; }
	@[ -x "$(UV)" ] || { $(PYTHON311) -c 'import ensurepip' 2>/dev/null || cluster/packages python3-venv; \
	  $(PYTHON311) -m venv .venv && $(BIN)/python -m pip install --quiet "$$(grep '^uv==' constraints/dev.in)"; }
	@$(UV) venv --quiet --allow-existing --python $(PYTHON311) .venv
	@$(UV) pip install --quiet --python $(BIN)/python --no-deps --require-hashes --compile-bytecode \
	  --requirement constraints/dev.txt
	@if [ -f pyproject.toml ]; then $(UV) pip install --quiet --python $(BIN)/python --no-deps --editable .; fi
	@touch $@

gvisor: ## gVisor's runsc for `spade verify`, without the cluster; registered with Docker if that is there
	cluster/gvisor

docker-image: install ## The sandbox image in this machine's Docker, for `spade verify --backend docker`
	cluster/docker-image

## Development cluster
cluster: ## Build what is missing and start the single-node cluster (a no-op if it runs)
	cluster/build
	cluster/up

images: install cluster ## Build the images whose inputs have changed into the cluster
	cluster/images

deploy: images ## Install or upgrade the chart in the cluster, with the images of this checkout
	cluster/deploy

deploy-current: install ## The same in the cluster of kubectl's current context, by way of REGISTRY=HOST[:PORT][/PATH]; VALUES=FILE for the chart
	@[ -n "$(REGISTRY)" ] || { echo "say where images go: REGISTRY=HOST[:PORT][/PATH]"; exit 1; }
	REGISTRY="$(REGISTRY)" cluster/deploy $(if $(VALUES),--values "$(VALUES)")

kubeconfig: cluster ## Print the lines that point kubectl and helm at the cluster
	@cluster/kubeconfig

clean-cluster: ## Stop and remove all that was started; with PURGE=1 also binaries, images and volumes
	cluster/down $(if $(PURGE),--purge)

## Every day
unit: install ## Pure tests (five minutes)
	$(BIN)/python -m pytest tests/unit --numprocesses 2

test: install images ## What CI runs: unit, integration, component, e2e, in three processes (30 minutes warm); PROCESSES=N for others
	$(BIN)/python -m pytest --numprocesses $(PROCESSES) --no-loadscope-reorder

slow: install ## What is too large for CI: many more random examples
	$(BIN)/python -m pytest -m slow

check: install ## Types, style, import rules, generated files are fresh (2 minutes)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/mypy tools tests/bench images cluster/checks cluster/config
	MYPYPATH=cluster $(BIN)/mypy --config-file= --strict cluster/spade_cluster
	$(BIN)/lint-imports
	$(BIN)/python tools/generate_crds.py --check
	$(BIN)/python tools/generate_differences.py --check
	$(BIN)/python tools/generate_benchmarks.py --check
	$(BIN)/python -m pytest tests/unit/test_tree.py

chart: cluster ## Lint the chart and pack it into dist/
	$(SPADE_HOME)/bin/current/helm lint .
	$(SPADE_HOME)/bin/current/helm package --destination dist .

bench: demo ## Measure on the finished demo, write tests/bench/results and docs/benchmarks.md
	$(BIN)/python -m tests.bench
	$(BIN)/python tools/generate_benchmarks.py

cluster-check: images ## Prove gVisor, closed networks, names and volumes on the running cluster
	cluster/check

## Every now and then
constraints: install ## Resolve constraints/*.in again into pinned, hashed constraints/*.txt
	@compile() { $(UV) pip compile "constraints/$$1.in" --python-version 3.11 --generate-hashes --no-emit-index-url --no-header \
	  --quiet --output-file "constraints/$$1.txt" "$${@:2}" >/dev/null; }; \
	cpu=(--override constraints/overrides.txt); \
	compile dev "$${cpu[@]}" $(if $(UPGRADE),--upgrade); \
	for name in operator sandbox worker trainer; do compile $$name "$${cpu[@]}" --constraint constraints/dev.txt; done; \
	compile trainer-cuda --constraint constraints/worker.txt

crds: install ## Write crds/ and the generated pages of docs/ from the models
	$(BIN)/python tools/generate_crds.py
	$(BIN)/python tools/generate_differences.py

benchmarks-page: install ## Write docs/benchmarks.md from tests/bench/results
	$(BIN)/python tools/generate_benchmarks.py

modules: ## Tidy the Go modules of the cluster's programs
	for module in cluster/modules/*/; do (cd $$module && go mod tidy); done

.PHONY: help demo install gvisor docker-image unit test slow check chart bench cluster-check cluster images deploy deploy-current crds benchmarks-page kubeconfig clean-cluster constraints modules
