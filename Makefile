# Targets and their help are listed by `make help`; a line starting with `##@` opens a group.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules

ARGS ?=
# How many tests run side by side; 0: one after the other. Most of them wait most of the time.
WORKERS ?= 0
VENV := .venv
PY := $(VENV)/bin/python
PIP := PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore $(PY) -m pip --quiet
RUNTIME := $(VENV)/.runtime
DEV := $(VENV)/.dev
SOURCES := $(wildcard shared services tools tests rabbitmq)
UV := .uv/bin/uv
COMPILE := $(UV) pip compile pyproject.toml --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-emit-find-links --no-header --quiet

##@ Use

.PHONY: help
help: ## list the targets
	@awk 'BEGIN {FS = ":.*## "} \
	  /^##@ / {printf "\n%s\n", substr($$0, 5)} \
	  /^[a-z-]+:.*## / {printf "  %-14s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

.PHONY: run
run: $(RUNTIME) ## the whole market plane in one process, no broker needed (ARGS="--seconds 20 --json")
	@$(PY) -m services.cli run $(ARGS)

.PHONY: up
up: $(RUNTIME) ## the stages as processes on RabbitMQ: AMQP_URL, else a private local node (ARGS="--normalizers 3")
	@$(PY) -m services.cli up $(ARGS)

##@ Test

.PHONY: test
test: $(DEV) ## every test but soak and containers, on a private RabbitMQ (ARGS="tests/unit -k book")
	$(PY) -m pytest --durations=10 --numprocesses=$(WORKERS) --dist=loadfile --no-loadscope-reorder $(ARGS)

.PHONY: test-unit
test-unit: $(DEV) ## what needs no broker and no second process
	$(PY) -m pytest -m "not integration and not fault and not e2e and not soak and not compose" $(ARGS)

.PHONY: soak
soak: $(DEV) ## normalizers and the broker come and go under load, checked (ARGS="--seconds 300 --seed 7"); ends with JSON
	@$(PY) -m tests.soak $(ARGS)

.PHONY: soak-account
soak-account: $(DEV) ## accounts trade while all breaks, compared with the venues' ledgers (ARGS="--seeds 20"); ends with JSON
	@$(PY) -m tests.soak.account $(ARGS)

.PHONY: compose-test
compose-test: $(DEV) ## start the containers for real; skipped where no engine can be had
	$(PY) -m pytest -m compose --timeout=0 tests/compose $(ARGS)

##@ Measure

BENCH := $(PY) -m services.cli bench

.PHONY: bench
bench: $(DEV) ## every benchmark, results in bench/results (minutes; they report, they don't judge)
	@mkdir -p bench/results
	$(BENCH) parse --json $(ARGS) | tee bench/results/parse.txt
	$(BENCH) executor --json $(ARGS) | tee bench/results/executor.txt
	$(BENCH) publish --json $(ARGS) | tee bench/results/publish.txt
	$(BENCH) pipeline --json $(ARGS) | tee bench/results/pipeline.txt
	$(BENCH) scale --json $(ARGS) | tee bench/results/scale.txt
	$(BENCH) latency --json $(ARGS) | tee bench/results/latency.txt
	$(BENCH) overload --json $(ARGS) | tee bench/results/overload.txt
	$(BENCH) metrics --json $(ARGS) | tee bench/results/metrics.txt
	$(BENCH) account --json $(ARGS) | tee bench/results/account.txt
	$(BENCH) journey --json --out bench/results $(ARGS) | tee bench/results/journey.txt

##@ Change

.PHONY: check
check: $(DEV) ## lint, types, architecture, spelling, Prometheus rules, generated documents
	$(PY) -m ruff check
	$(PY) -m ruff format --check
	$(PY) -m mypy $(SOURCES)
	$(VENV)/bin/lint-imports --no-logo
	$(VENV)/bin/typos
	@$(MAKE) --no-print-directory check-prometheus
	$(PY) -m tools.docs --check
	$(PY) -m tools.manifests

PROMETHEUS_RULES := $(wildcard grafana/prometheus/rules/*.yml)
PROMETHEUS_TESTS := $(wildcard grafana/prometheus/tests/*.yml)

.PHONY: check-prometheus
check-prometheus: # promtool is not a Python package: checked where it is installed
	@command -v promtool >/dev/null || { echo "promtool is not installed: Prometheus configuration not checked"; exit 0; }; \
	promtool check config grafana/prometheus/prometheus.yml; \
	$(if $(PROMETHEUS_RULES),promtool check rules $(PROMETHEUS_RULES);) \
	$(if $(PROMETHEUS_TESTS),promtool test rules $(PROMETHEUS_TESTS);)

.PHONY: format
format: $(DEV) ## format the code and apply safe fixes
	$(PY) -m ruff check --fix-only
	$(PY) -m ruff format

.PHONY: docs
docs: $(DEV) ## write the generated schemas and documents anew
	$(PY) -m tools.docs

.PHONY: pictures
pictures: $(DEV) ## draw the dashboards into docs/images, from the data of a real Prometheus (minutes)
	$(PY) -m tools.pictures $(ARGS)

.PHONY: lock
lock: $(UV) ## resolve the dependencies anew (ARGS="--upgrade") and write the hash-locked requirements
	$(COMPILE) --group build $(ARGS) --output-file requirements.lock
	$(COMPILE) --group dev --constraint requirements.lock $(ARGS) --output-file requirements-dev.lock

.PHONY: clean
clean: ## remove the virtual environments, caches and build output
	rm -rf $(VENV) .uv build *.egg-info .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	find $(SOURCES) -name __pycache__ -prune -exec rm -rf {} +

# The virtual environment. A stamp older than its lock means a changed lock: then everything is made anew.

define install
	@find_python() { \
	  for python in $(or $(PYTHON),python3 python3.14 python3.13 python3.12 python3.11); do \
	    "$$python" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && \
	      { echo "$$python"; return; }; \
	  done; \
	  echo "make: no Python 3.11 or newer with venv was found; install one (Debian, Ubuntu: apt-get install python3-venv)" \
	    "or name it: make PYTHON=/path/to/python3" >&2; \
	  return 1; \
	}; \
	if [ -e $@ ] || ! $(PY) -c '' 2>/dev/null; then \
	  python=$$(find_python); \
	  echo "creating $(VENV) with $$("$$python" --version)"; \
	  "$$python" -m venv --clear $(VENV); \
	fi
	@echo "installing $<"
	@$(PIP) install --require-hashes --requirement $<
	@$(PIP) install --no-deps --no-build-isolation --editable .
endef

$(RUNTIME): requirements.lock
	$(install)
	@touch $@

$(DEV): requirements-dev.lock requirements.lock
	$(install)
	@touch $(RUNTIME) $@

$(UV):
	@python3 -m venv .uv
	@.uv/bin/python -m pip --quiet install uv
