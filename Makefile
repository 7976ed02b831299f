# The verbs of this repository; `make help` lists them.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

BIN := .venv/bin
JAVASCRIPT := tests/integration/javascript
BROWSER := tests/browser
QUERY_SDK := .setup/query-sdk
NODE_MODULES := $(JAVASCRIPT)/node_modules/.package-lock.json
AXE := $(BROWSER)/node_modules/.package-lock.json
CASSANDRA_JARS := .setup/cassandra/lib/fetched
JMS := .setup/jms

# Tests start hundreds of programs: each would compile all its modules again.
unexport PYTHONDONTWRITEBYTECODE

# What `make test` runs, in this order; each but lint is also `make test-<stage>`.
STAGES := lint test-quick test-redis test-cassandra $(if $(wildcard tests/faults/test_*.py),test-faults) test-gateway test-clients test-browser test-query test-jms test-spark

# Contracts that take their time, because clients in them do: they run with the faults.
SLOW := tests/contract/abuse tests/contract/transport
# Reads the pages and does what they say: runs where the programs are that they use.
PAGES := tests/docs/test_code.py

# How many processes run tests side by side: WORKERS=0 runs them in one, as for a debugger.
WORKERS ?= 2
PYTEST := $(BIN)/pytest -n $(WORKERS) --dist worksteal

# A test that starts Spark, or the service, again and again takes minutes on a slow machine; after this it hangs.
HANGS_S := 900

# More words for the program a verb starts: make serve ARGS="--port 9325", make test-quick ARGS="-k fifo -x"
ARGS ?=
# The same for the console that `make serve` starts: CONSOLE="--port 9401"; CONSOLE=no starts none.
CONSOLE ?=
# The same for the soak at the end of `make bench-long`: SOAK_ARGS="--seconds 60"
SOAK_ARGS ?=

.PHONY: help
help: ## list the verbs
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: serve
serve: ## start the service (ARGS="--port 9400") and its console (CONSOLE="--port 9401"), after installing what they need
	@scripts/environment.sh base
	@CONSOLE="$(CONSOLE)" exec scripts/serve.sh $(ARGS)

.PHONY: setup
setup: environment needs-spark uplot ## make .venv/bin/rockdove with every extra and the development tools, and see to Java

.PHONY: environment
environment:
	@scripts/environment.sh all

.PHONY: test
test: setup needs-clients needs-spark jms-program ## everything CI runs: lint, then all stages of tests
	@scripts/stages.sh $(MAKE) $(STAGES)

.PHONY: test-quick
test-quick: environment ## tests that need Python alone; a few minutes
	$(PYTEST) tests --ignore tests/integration --ignore tests/faults --ignore tests/redis --ignore tests/cassandra --ignore tests/kubernetes --ignore tests/gateway --ignore tests/jms --ignore $(BROWSER) $(patsubst %,--ignore %,$(SLOW) $(PAGES)) $(ARGS)

.PHONY: test-redis
test-redis: environment ## the store on real Redis servers: its contract, kills, and servers that come back; front-ends that come and go
	@scripts/need.sh redis-server=redis-server nginx=nginx-light cc=build-essential
	TEST_STORE=redis $(PYTEST) tests/contract/store tests/redis $(ARGS)
	TEST_SERVICE=redis $(PYTEST) tests/contract/sqs tests/contract/gate $(ARGS)

# Tests of a stage that share one node.
CASSANDRA_TESTS := TEST_STORE=cassandra $(PYTEST) tests/contract/store tests/cassandra $(ARGS) && \
	TEST_SERVICE=cassandra $(PYTEST) tests/contract/sqs tests/contract/gate $(ARGS)

.PHONY: test-cassandra
test-cassandra: environment cassandra-jars ## the store on a real Cassandra: its contract, and front-ends that share it
	$(BIN)/python scripts/cassandra/nodes.py run 1 bash -c '$(CASSANDRA_TESTS)'

.PHONY: test-faults
test-faults: setup ## tests that kill, cut and fill the disk; the contract of the service over several front-ends
	@scripts/need.sh sqlite3=sqlite3 cc=build-essential wrk=wrk
	$(PYTEST) -o faulthandler_timeout=$(HANGS_S) tests/faults $(SLOW) $(ARGS)
	TEST_SERVICE=front-ends $(PYTEST) tests/contract/sqs tests/contract/gate $(ARGS)

.PHONY: test-gateway
test-gateway: setup ## MQTT and CoAP: a thousand devices, broken packets, and gateways and services that are killed
	@scripts/need.sh mosquitto_pub=mosquitto-clients
	$(PYTEST) tests/gateway $(ARGS)

.PHONY: test-clients
test-clients: setup needs-clients ## boto3, AWS CLI, Celery, the JavaScript SDK and nginx against a real server; the code in the docs
	$(PYTEST) tests/integration $(PAGES) --ignore tests/integration/spark $(ARGS)

.PHONY: test-browser
test-browser: environment needs-browser ## the console in Chromium: what people do there, also by keyboard, and what axe finds
	$(PYTEST) $(BROWSER) $(ARGS)

.PHONY: screenshots
screenshots: environment needs-browser ## take the pictures of the console that the docs show anew: docs/figures/console-*.png
	@$(BIN)/python -m tests.browser.screenshots $(ARGS)

.PHONY: needs-browser
needs-browser:
	@scripts/need.sh chromium=chromium npm=npm
	@scripts/console.sh
	@$(MAKE) --silent $(AXE)

$(AXE): $(BROWSER)/package.json $(BROWSER)/package-lock.json
	cd $(BROWSER) && npm ci --no-audit --no-fund --loglevel=error
	@touch $@

.PHONY: test-query
test-query: setup $(QUERY_SDK)/installed ## the boto3 tests again with the last boto3 that spoke AWS Query
	TEST_PROTOCOL=query PYTHONPATH=$(QUERY_SDK) $(BIN)/pytest -W ignore::DeprecationWarning tests/integration/test_boto3.py $(ARGS)

$(QUERY_SDK)/installed: tests/integration/query-sdk.txt | setup
	@rm -rf $(QUERY_SDK)
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --target $(QUERY_SDK) --requirements $< || \
		$(BIN)/pip install --quiet --no-deps --target $(QUERY_SDK) --requirement $<
	@touch $@

.PHONY: test-jms
test-jms: environment jms-program ## a JMS program and Spring Cloud AWS, in Java, against a real server
	$(PYTEST) tests/jms $(ARGS)

.PHONY: test-spark
test-spark: setup needs-spark ## queues as tables and traces on Spark, on this machine and on a small cluster
	@scripts/need.sh redis-server=redis-server
	$(PYTEST) --dist loadgroup -o faulthandler_timeout=$(HANGS_S) tests/integration/spark $(ARGS)

# Not one of the stages: building the control plane takes a quarter of an hour.
.PHONY: test-kube
test-kube: environment ## workers on a real Kubernetes control plane, which is built from source, once; needs Go
	@scripts/kubernetes/build.sh
	$(BIN)/pytest -n 0 tests/kubernetes $(ARGS)

# How many nodes `make cassandra` starts: NODES=3
NODES ?= 1

.PHONY: cassandra
cassandra: environment cassandra-jars ## start Cassandra on 127.0.0.1, or on 127.0.0.1 to 127.0.0.3 with NODES=3
	@$(BIN)/python scripts/cassandra/nodes.py start $(NODES)

.PHONY: cassandra-stop
cassandra-stop: environment ## stop what `make cassandra` has started; the data stays in .setup/cassandra/run
	@$(BIN)/python scripts/cassandra/nodes.py stop 3

.PHONY: cassandra-jars
cassandra-jars:
	@scripts/need.sh java=default-jre-headless mvn=maven
	@$(MAKE) --silent $(CASSANDRA_JARS)

$(CASSANDRA_JARS): scripts/cassandra/pom.xml
	@echo 'rockdove: fetching Cassandra with Maven' >&2
	@rm -rf $(@D)
	@mvn -B -q -f $< -DincludeScope=runtime -DoutputDirectory=$(CURDIR)/$(@D) org.apache.maven.plugins:maven-dependency-plugin:3.10.0:copy-dependencies
	@touch $@

.PHONY: jms-program
jms-program:
	@scripts/need.sh javac=default-jdk-headless mvn=maven
	@$(MAKE) --silent $(JMS)/built

# A goal without its plugin's version: the poms have that.
COPY_JARS := org.apache.maven.plugins:maven-dependency-plugin:copy-dependencies

$(JMS)/built: tests/jms/pom.xml tests/jms/spring/pom.xml $(shell find tests/jms/src -name '*.java')
	@echo 'rockdove: building the JMS program with Maven' >&2
	@rm -rf $(JMS)
	@mvn -B -q -f tests/jms/pom.xml compile $(COPY_JARS)
	@mvn -B -q -f tests/jms/spring/pom.xml $(COPY_JARS)
	@touch $@

.PHONY: uplot
uplot:
	@scripts/console.sh || echo 'rockdove: going on; the console is without charts until scripts/console.sh succeeds' >&2

.PHONY: needs-spark
needs-spark:
	@scripts/need.sh java=default-jre-headless

.PHONY: needs-clients
needs-clients:
	@scripts/need.sh node=nodejs npm=npm nginx=nginx-light dot=graphviz mosquitto_pub=mosquitto-clients
	@scripts/need.sh --if-offered /usr/bin/aws=awscli
	@$(MAKE) --silent $(NODE_MODULES)

$(NODE_MODULES): $(JAVASCRIPT)/package.json $(JAVASCRIPT)/package-lock.json
	cd $(JAVASCRIPT) && npm ci --no-audit --no-fund --loglevel=error
	@touch $@

.PHONY: lint
lint: environment ## ruff, mypy and the import order
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

.PHONY: fix
fix: environment ## let ruff repair and format what it can
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

.PHONY: audit
audit: environment ## licences, and known weaknesses of all that is pinned; needs the network, and says so
	@$(BIN)/python scripts/licences.py --check
	@$(BIN)/python scripts/audit.py

.PHONY: licences
licences: environment ## write docs/reference/licences.md anew
	@$(BIN)/python scripts/licences.py

.PHONY: bench
bench: setup cassandra-jars ## our speed beside a server that stores nothing, driven by wrk; the analysis of a trace; queues in Spark; the models of a queue
	@scripts/need.sh wrk=wrk redis-server=redis-server
	@$(BIN)/python -m bench.run $(ARGS)
	@$(BIN)/python -m bench.workers $(ARGS)
	@$(BIN)/python -m bench.analysis
	@$(BIN)/python -m bench.analysis --skew 0.5
	@$(BIN)/python -m bench.analysis --events 1000000 --queues 1 --rounds 2
	@$(BIN)/python -m bench.analysis --events 1000000 --queues 50000 --rounds 2
	@$(BIN)/python -m bench.whole
	@$(BIN)/python -m bench.held
	@$(BIN)/python -m bench.fanout
	@$(BIN)/python -m bench.miss
	@$(BIN)/rockdove bench rds
	@$(BIN)/python -m bench.cassandra
	@$(BIN)/python -m bench.queues
	@$(BIN)/python -m bench.petri
	@$(BIN)/python -m bench.capacity

.PHONY: bench-peers
bench-peers: setup ## the same loads on ElasticMQ and moto
	@scripts/need.sh wrk=wrk java=default-jre-headless mvn=maven
	@$(BIN)/python -m bench.peers $(ARGS)

.PHONY: bench-long
bench-long: setup cassandra-jars ## ten million messages in one queue, 200 clients for ten minutes, very many queues, attacks, histories
	@scripts/need.sh wrk=wrk cc=build-essential redis-server=redis-server
	@$(BIN)/python -m bench.depth $(ARGS)
	@$(BIN)/python -m bench.analysis --events 50000000
	@$(BIN)/python -m bench.soak $(SOAK_ARGS)
	@$(BIN)/python -m bench.many
	@$(BIN)/python -m bench.flat
	@$(BIN)/python -m bench.abuse
	@$(BIN)/python -m bench.history --store sqlite
	@$(BIN)/python -m bench.history --store sqlite --workers 0
	@$(BIN)/python -m bench.history --store memory
	@$(BIN)/python -m bench.history --store redis
	@$(BIN)/python -m bench.history --store cassandra

.PHONY: clean
clean: ## remove the environment, the npm packages and every cache; the data folder stays
	rm -rf .venv .setup $(JAVASCRIPT)/node_modules $(BROWSER)/node_modules src/rockdove/console/static/vendor .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache target dist site
	find src tests bench -name __pycache__ -type d -prune -exec rm -rf {} +
