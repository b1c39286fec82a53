# What a person or CI calls. `make help` lists it.

include api/generate.mk
include playground/build.mk
include notifier/build.mk

VERSION ?=
ldflags := $(if $(VERSION),-X github.com/sluice-delivery/sluice/internal/buildinfo.version=$(VERSION))

LINT = go tool -modfile=hack/tools/go.mod golangci-lint

# Without cgo: programs that run anywhere, at two thirds of the size (with it the linker keeps every symbol for package plugin,
# which kubectl's libraries import), and every package is compiled once for programs and tests.
export CGO_ENABLED := 0

.DEFAULT_GOAL := build

.PHONY: help
help: ## List what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: bin/sluice-controller bin/sluice-dashboard bin/sluice bin/sluice-playground bin/sluice-notifier ## Build all programs into bin/
	@ln -sf sluice bin/kubectl-argo-rollouts
	@ln -sf sluice bin/kubectl-sluice

# Whether a program is up to date is for Go to say: it does so in seconds.
.PHONY: bin/sluice-controller bin/sluice-dashboard bin/sluice
bin/sluice-controller bin/sluice-dashboard bin/sluice:
	go build -ldflags '$(ldflags)' -o $@ ./cmd/$(@F)

# What some tests and a demo ask. It costs nothing where it is on the PATH already.
.PHONY: prometheus
prometheus: | bin
	@hack/prometheus/install.sh bin

# What one test puts in front of the dashboard. A minute or two the first time; where it cannot be had, the test is not run and says so.
.PHONY: oauth2-proxy
oauth2-proxy: | bin prometheus
	@command -v oauth2-proxy >/dev/null || (cd hack/oauth2proxy && go build -ldflags '-s -w' -o ../../bin/oauth2-proxy github.com/oauth2-proxy/oauth2-proxy/v7) || \
		echo "NOT RUN: the dashboard behind oauth2-proxy, because it cannot be built from hack/oauth2proxy: put oauth2-proxy on the PATH, then run make test again" >>bin/not-run

bin:
	@mkdir -p bin

.PHONY: demo
demo: export PATH := $(PATH):$(CURDIR)/bin
demo: build $(if $(filter analysis traffic,$(STRATEGY)),prometheus) ## Show an update from the first pod to Healthy, on a real control plane in a process (STRATEGY=bluegreen, analysis, or traffic, KEEP=1)
ifeq ($(STRATEGY),traffic)
	@go build -o bin/sluice-traffic ./hack/traffic
	@SLUICE_BIN=$(CURDIR)/bin exec bin/sluice-traffic -show bin
else
	@go build -o bin/sluice-demo ./hack/demo
	@exec bin/sluice-demo
endif

# With the race detector tests take three times the CPU time. It needs cgo, and that a C compiler.
RACE ?=
detector := $(if $(shell command -v $(shell go env CC)),env CGO_ENABLED=1 go test -race,go test)
test := $(if $(RACE),$(detector),go test)
# The engines, the simulator, the renderers of routes and the language of conditions have no goroutines that a race could be between, and
# with the detector their thousands of histories take eight times as long: `make race` does it all the same.
engines = ./internal/plan/... ./internal/experiment/... ./internal/sim/... ./internal/expr/... $$(go list ./internal/traffic/... | grep -v /e2e)
# Most of the others wait more than they compute, for playgrounds, timers, and browsers: without the detector twice as many run at a time as there are
# CPUs, those of the other modules beside them, and the engines fill the gaps. What takes longest begins first.
at_once := $(if $(RACE),,-p $(shell expr 2 '*' $$(getconf _NPROCESSORS_ONLN)))
beside := $(if $(RACE),1,3)
longest = ./internal/controller ./hack/traffic ./internal/dashboard/browser ./config

.PHONY: traffic
TRAFFIC ?=
traffic: build ## Count the requests that updates lose, through real proxies, a million in half an hour, and write the tables into docs/requests.md and docs/reliability.md (TRAFFIC="-strategy nginx -lags 0s,5s"; needs NGINX)
	@go build -o bin/sluice-traffic ./hack/traffic
	@SLUICE_BIN=$(CURDIR)/bin bin/sluice-traffic $(if $(TRAFFIC),$(TRAFFIC),-lags 0s,5s -rate 200 -parallel 5 -o docs/requests.md -summary docs/reliability.md)

.PHONY: bench
ROLLOUTS ?= 100
MANY ?= 500
REPLICAS ?= 3
IDLE ?= 5000
HOSTILE ?= 10000
ANALYSES ?= 1000
bench: build ## Measure what rollouts cost and write it into docs/performance.md, and how many states of small worlds are searched in a second (ROLLOUTS=n MANY=n REPLICAS=n IDLE=n HOSTILE=n ANALYSES=n)
	@go build -o bin/sluice-bench ./hack/bench
	@SLUICE_BIN=$(CURDIR)/bin bin/sluice-bench -rollouts $(ROLLOUTS) -many $(MANY) -replicas $(REPLICAS) -idle $(IDLE) -hostile $(HOSTILE) -analyses $(ANALYSES) -into docs/performance.md
	go test ./internal/sim/check -run NONE -bench States -benchtime 1x
	@SLUICE_BIN=$(CURDIR)/bin go test -count=1 -v -run TestC15TheProcessWithAThousandRollouts ./internal/dashboard/browser

.PHONY: test
test: export SLUICE_BIN = $(CURDIR)/bin
test: export PATH := $(PATH):$(CURDIR)/bin
# Tests make much garbage, and so do the compiler and the linker: collecting it less often saves an eighth of the CPU time.
test: export GOGC ?= 400
test: build prometheus oauth2-proxy ## Run every test, those against the playground included (RACE=1 with the race detector, as CI does)
	@$(MAKE) --no-print-directory -j$(beside) test-waiting test-modules test-computing
	@if [ -e bin/not-run ]; then cat bin/not-run; fi
	@command -v graphite-manage >/dev/null && command -v influxd >/dev/null || echo "Not run: measurements by a real Graphite and a real InfluxDB. apt-get install graphite-web influxdb."
	@command -v nginx >/dev/null || [ -x /usr/sbin/nginx ] || echo "Not run: updates behind a gateway under real requests. apt-get install nginx-light, or your system's package of NGINX."

.PHONY: test-waiting test-modules test-computing
test-waiting:
	$(test) $(at_once) -timeout 60m $(longest) $$(go list ./... | grep -vxF "$$(go list $(engines) $(longest))")

test-modules:
	cd notifier && $(test) -timeout 30m ./...
	cd playground && go test ./...

# Each world is small and is thrown away, so that even less collecting costs little memory.
test-computing:
	GOGC=1600 nice go test -timeout 60m $(engines)

.PHONY: race
race: export SLUICE_BIN = $(CURDIR)/bin
race: export PATH := $(PATH):$(CURDIR)/bin
race: build prometheus oauth2-proxy ## Run the tests under the race detector, those of the engines too
	$(detector) -timeout 60m ./...

.PHONY: explore
SEEDS ?= 10000
FROM ?= 1
explore: ## Run SEEDS=n random histories of rollouts against the engine from seed FROM=1, half as many with routers, half as many with hands laid on Services and ReplicaSets, one in four with Experiments, and one in twenty against the real shell, alone and beside a hostile tenant
	GOGC=400 go test ./internal/sim/explore -run TestExplore -v -seeds $(SEEDS) -first $(FROM) -timeout 0

.PHONY: mutants
N ?= 300
SEED ?= 1
BUDGET ?= 2h
JOBS ?= 1
SKIP ?= 0
MUTATED ?=
WHERE ?=
mutants: ## Change the engines in one place, N=300 times as SEED=1 has it, run the fast tests each time, and show what they did not notice (BUDGET=2h JOBS=1 SKIP=0 MUTATED="./internal/plan/..." WHERE=retire); MUTATED=./internal/traffic/... changes the routers instead
	@go build -o bin/sluice-mutants ./hack/mutants
	@bin/sluice-mutants -n $(N) -seed $(SEED) -budget $(BUDGET) -jobs $(JOBS) -skip $(SKIP) -where '$(WHERE)' $(MUTATED)

.PHONY: check
WORLD ?=
WAY ?=
STATES ?= 0
check: ## Search small worlds to their end (WORLD=canary for one of them, WAY=m0,p,s0 to see what these steps lead to, STATES=1000000 to stop there)
	@go build -o bin/sluice-check ./hack/check
	@bin/sluice-check -world '$(WORLD)' -way '$(WAY)' -states $(STATES)

.PHONY: fuzz
FUZZTIME ?= 30s
FUZZ ?= .
fuzz: ## Run every fuzz target, or those that match FUZZ=Stored, for FUZZTIME=30s
	hack/fuzz.sh $(FUZZTIME) '$(FUZZ)'

# Not part of .ci/run: it asks https://vuln.go.dev, or a copy of it where GOVULNDB says (file:///srv/vulndb), and must fail without.
.PHONY: release
PLATFORMS ?= linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64
release: ## Build a release into dist/, twice, and compare: programs, bills of materials, manifests (VERSION=v1.2.3 PLATFORMS="linux/amd64")
	hack/release/release.sh "$(VERSION)" $(PLATFORMS)

.PHONY: vulncheck
vulncheck: ## Look for known vulnerabilities in what is called; needs network, or GOVULNDB=file:///FOLDER
	go tool -modfile=hack/tools/go.mod govulncheck $(if $(GOVULNDB),-db $(GOVULNDB)) ./... || { echo "make vulncheck: it found something, or could not look: the database is https://vuln.go.dev, or a copy at GOVULNDB=file:///FOLDER" >&2; exit 1; }

.PHONY: explore-playground
explore-playground: export SLUICE_BIN = $(CURDIR)/bin
explore-playground: build ## Run SEEDS=n seeded histories on a real API server, with kill -9 (SEEDS=10 takes minutes)
	go test ./internal/controller -run TestExplorePlayground -v -playground-seeds $(SEEDS) -parallel 2 -timeout 0

.PHONY: generate
generate: generate-api generate-docs ## Regenerate everything that is generated

.PHONY: generate-docs
generate-docs: ## Regenerate the pages about the commands and the API, and the pictures
	go run ./hack/docs docs/commands
	go run ./hack/reference config/crd api/v1alpha1 internal docs/reference
	go run ./hack/pictures docs/pictures

.PHONY: pictures
pictures: build ## Show the dashboard in every state to Chromium, and write what it looks like into docs/pictures/dashboard
	@mkdir -p docs/pictures/dashboard
	SLUICE_BIN=$(CURDIR)/bin go test -count=1 ./internal/dashboard/browser -run TestEveryPage -args -pictures $(CURDIR)/docs/pictures/dashboard

.PHONY: site
site: ## Build the documentation as a static site with search into dist/site (needs Node.js 20 and npm)
	@mkdir -p bin/site && cp -R hack/site/. bin/site
	npm --prefix bin/site ci --no-audit --no-fund
	npm --prefix bin/site run build
	@echo "The site is in dist/site: python3 -m http.server --directory dist/site 8000"

.PHONY: format
format: ## Format the code
	$(LINT) fmt ./...
	cd playground && go tool -modfile=../hack/tools/go.mod golangci-lint fmt ./...
	cd notifier && go tool -modfile=../hack/tools/go.mod golangci-lint fmt ./...

.PHONY: lint
lint: ## Run the linters
	$(LINT) run ./...
	cd playground && go tool -modfile=../hack/tools/go.mod golangci-lint run ./...
	cd notifier && go tool -modfile=../hack/tools/go.mod golangci-lint run ./...
	hack/same-versions.sh
	go run ./hack/rooms internal/plan internal/experiment internal/analysis internal/change
	go run ./hack/words AGENTS.md hack/words/todo.txt .

.PHONY: verify
verify: generate format lint ## Regenerate, format and lint, and demand that this changed nothing
	go mod tidy -diff
	cd playground && go mod tidy -diff
	cd notifier && go mod tidy -diff
	cd hack/gatewayapi && go mod tidy -diff
	cd hack/istio && go mod tidy -diff
	cd hack/oauth2proxy && go mod tidy -diff
	cd hack/prometheus && go mod tidy -diff
	cd hack/release && go mod tidy -diff && go vet ./...
	cd hack/tools && go mod tidy -diff
	cd hack/tools/helm && go mod tidy -diff
	@git diff --exit-code -- . || { echo "make verify: the files above are not what the generators and formatters make of them; run make generate format and commit" >&2; exit 1; }
	@test -z "$$(git status --porcelain)" || { git status --short; echo "make verify: files that git does not know; add or ignore them" >&2; exit 1; }

.PHONY: clean
clean: ## Remove what was built
	rm -rf bin
