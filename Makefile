# make check is the fast part, for while you work; make test is everything.
.PHONY: run release site check left lint vulncheck test soak statistics tools test-tools proxies screenshots bench bench-peers bench-aa bench-neighbour findings generate cluster-up cluster-down cluster-test cluster-soak mesh-test

CACHE = $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/rpclab

# As in releases and images. So Go compiles a package once for all of them, and for every clone. Without garbage collection up
# to 1 GiB, compilers take a third less CPU time.
export GOFLAGS := $(strip $(GOFLAGS) -trimpath '-toolexec=env GOGC=off GOMEMLIMIT=1GiB')
export CGO_ENABLED = 0

# What make check leaves to make test, besides the race detector: packages whose tests need more than Go
# and the proxies. The other packages are PLAIN.
LEFT = test/e2e test/conformance test/dashboards test/cluster test/kube test/security test/browser tools/site
PLAIN = $(shell go list ./... | grep -v $(LEFT:%=-e /%))

run: ; go run ./cmd/rpclab run channels --quick

# Archives, packages, images, a Helm chart, a manifest of krew, checksums and a bill of materials, in dist. URL=https://…
# is where users find them, for krew.
release: ; go -C tools/release run . $(if $(URL),-url $(URL))

# The documentation site, in dist/site. It needs Python 3.11 with pip.
site: ; go run ./tools/site

# go test repeats the tests that run the program only when its checksum changes, which they read from
# the environment. Without the commit in it, the program changes with its code only.
PROGRAM = $(CACHE)/check$(CURDIR)/rpclab
check: left lint proxies
	go build -buildvcs=false -ldflags='-s -w' -o $(PROGRAM) ./cmd/rpclab
	RPCLAB_TEST_PROGRAM=$(PROGRAM) RPCLAB_TEST_CHECKSUM=$$(cksum <$(PROGRAM)) go test -short -p 4 -parallel 4 $(PLAIN)

left:
	@echo "make check leaves to make test: the race detector, more calls to calculators, $(LEFT)"

# The types of web/src are checked by the tests of web/bundle.
STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.8.2
RUFF = 0.17.6

lint: tools $(CACHE)/ruff-$(RUFF)
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { echo "gofmt would change:"; gofmt -l $$(git ls-files '*.go'); exit 1; }
	go vet ./...
	go run $(STATICCHECK) ./...
	$(CACHE)/ruff-$(RUFF)/bin/ruff check --quiet servers/python test/conformance/servers/python examples python
	cargo clippy --quiet --locked --manifest-path servers/rust/Cargo.toml --target-dir $(CACHE)/clippy -- --deny warnings

$(CACHE)/ruff-$(RUFF):
	python3 -m pip install --quiet --root-user-action ignore --disable-pip-version-check --no-deps --require-hashes --target $@ --requirement test/ruff.txt

# Known vulnerabilities in what the program calls. Not part of check: it needs the database at vuln.go.dev, which not every
# machine that runs the tests can reach, so no test runs this target.
vulncheck: ; go run golang.org/x/vuln/cmd/govulncheck@v1.9.0 ./...

# A table of all stages and their times comes at the end. A test that failed runs once more:
# docs/decisions/0016-twice.md. Some stages alone: go run ./test/stages e2e conformance.
test: tools ; @go run ./test/stages

# What takes long to show: the tables of docs/method/statistics.md with 2,000 simulations, 10,000
# channels, a million calls, 50,000 connections. Half an hour on a quiet machine; run it before a release.
soak: proxies
	go test -count=1 -timeout 60m ./internal/wire -run Soak -v -soak
	$(MAKE) statistics
	go -C tools/release test -count=1 -timeout 1h -v . -soak
	go test -count=1 -timeout 2h ./test/e2e -run 'Million|TenThousand|ManyConnections|FiftyThousand' -v -soak

# The tables of docs/method/statistics*.md, comparing.md and search.md, with 2,000 simulated runs a figure: about 20 minutes
# of CPU time. UPDATE=-update rewrites them.
statistics: ; go test -count=1 -p 1 -timeout 3h ./internal/verdict ./internal/analysis ./internal/pace/search -run 'Coverage|Power|Accuracy' -v -sims 2000 $(UPDATE)

bench:
	go test -run '^$$' -bench . -benchmem ./internal/...

# What other load generators cost: up to eight minutes, and a few more to install them.
bench-peers: ; go run ./bench/peers
bench-aa: ; go run ./bench/aa
bench-neighbour: ; go run ./bench/neighbour

# Measures what changed since the pages of docs/findings, in one night if all did, and writes them. It may be
# interrupted: the next start continues. go run ./bench/findings -plan prints what it would measure.
findings: test-tools ; go run ./bench/findings

generate:
	go generate ./...
	go test ./internal/result ./internal/lab -run Schema -update

# The proxies that routes need; installed ones are kept.
proxies: ; @go run ./cmd/rpclab doctor --install

# Everything that make test installs.
test-tools: proxies ; @test/tools.sh && test/conformance/servers/build.sh && test/dashboards/build.sh

# The picture of a report in the README.
screenshots: test-tools ; go run ./test/browser/pictures

# A real Kubernetes on this machine: test/cluster/README.md.
cluster-up: ; @go run ./test/cluster up
cluster-down: ; @go run ./test/cluster down

# Tests on a cluster of their own, which they remove at the end. Its first build takes ten minutes.
cluster-test: tools proxies
	@test/tools.sh
	go run ./test/cluster with --name test -- test/run.sh "./test/kube/... ./test/cluster" -timeout 30m -parallel 4 -skip 'Istio|Soak'

# What takes long on Kubernetes: 20 callers, 100 backends in ten EndpointSlices, an autoscaler and a drain on each
# route, and the five scenarios of the balancing study in Go and Python. It prints what it measured.
cluster-soak: tools proxies
	@test/tools.sh
	go run ./test/cluster with --name soak --endpoints-per-slice 10 -- go test -count=1 -timeout 90m ./test/kube -run Soak -v

# The tests that need Istio: test/cluster/istio. They are not part of make test, because the first build of
# Istio takes too long there.
mesh-test: tools proxies
	go run ./test/cluster with --name mesh -- test/run.sh ./test/kube -timeout 30m -parallel 4 -run Istio

# Go, and a C compiler for the race detector; Go downloads modules into its own cache.
tools:
	@command -v go >/dev/null || { echo "go is missing: install Go 1.26 or newer, https://go.dev/dl"; exit 1; }
	@command -v cc >/dev/null || { echo "a C compiler is missing (go test -race needs it): apt-get install gcc"; exit 1; }
	@command -v cargo >/dev/null || { echo "cargo is missing (it checks and builds servers/rust): install Rust, https://rustup.rs"; exit 1; }
	@command -v npm >/dev/null || { echo "npm is missing (it checks web): apt-get install npm"; exit 1; }
	@python3 -m pip --version >/dev/null || { echo "pip is missing (it gets ruff): apt-get install python3-pip"; exit 1; }
