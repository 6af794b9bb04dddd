# make check is the fast part, for while you work; make test is everything.
.PHONY: run check lint test tools proxies conformance-tools dashboards-tools browser-tools screenshots statistics bench bench-peers bench-aa generate cluster-up cluster-down cluster-test

# All but the tests of make test, each of which needs more than Go and the proxies.
PLAIN = $(shell go list ./... | grep -v -e /test/e2e -e /test/conformance -e /test/dashboards -e /test/cluster -e /test/kube -e /test/security -e /test/browser -e /web/)

# The statistics are pure and long simulations: the race detector finds nothing there, slowly.
RACED = $(filter-out rpclab/internal/verdict,$(PLAIN))

run: ; go run ./cmd/rpclab run channels --quick

check: lint proxies
	go test -short $(PLAIN)

lint: tools
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { echo "gofmt would change:"; gofmt -l $$(git ls-files '*.go'); exit 1; }
	go vet ./...
	GOOS=darwin go vet ./...

# A test that failed runs once more: docs/decisions/0016-twice.md. Kubernetes, which takes ten
# minutes to build, is built beside the first tests, when nothing else wants the processors.
test: lint proxies conformance-tools dashboards-tools browser-tools
	nice -n 19 go run ./test/cluster build & test/run.sh "$(RACED)" -race -timeout 40m
	test/run.sh "./internal/verdict ./internal/caller/calculator" -timeout 10m
	test/run.sh ./test/security -timeout 10m
	test/run.sh ./test/e2e -timeout 40m
	test/run.sh ./test/conformance -timeout 25m
	test/run.sh ./test/dashboards -timeout 5m
	test/run.sh "./web/bundle ./test/browser" -timeout 10m
	go test -count=1 -timeout 30m ./internal/verdict -run 'Coverage|Power' -sims 1000
	$(MAKE) cluster-test

# The tables of docs/method/statistics.md, checked: a quarter of an hour.
statistics: ; go test -count=1 -timeout 60m ./internal/verdict -run 'Coverage|Power' -v -sims 5000

bench:
	go test -run '^$$' -bench . -benchmem ./internal/...

# What other load generators cost: up to eight minutes, and a few more to install them.
bench-peers: ; go run ./bench/peers
bench-aa: ; go run ./bench/aa

generate:
	go generate ./...
	go test ./internal/result ./internal/lab -run 'PublishedSchema' -update

# The proxies that routes need; what is there already stays.
proxies: ; @go run ./cmd/rpclab doctor --install

# Servers that others wrote, into the system (Debian packages) and the user's cache.
conformance-tools: ; @test/conformance/tools.sh
dashboards-tools: ; @test/dashboards/tools.sh
browser-tools: ; @test/browser/tools.sh

# The pictures of pages in docs/images.
screenshots: browser-tools ; go run ./test/browser/pictures

# A real Kubernetes on this machine: test/cluster/README.md.
cluster-up: ; @go run ./test/cluster up
cluster-down: ; @go run ./test/cluster down

# Tests on a cluster of their own, which ends with them. Its first build takes ten minutes.
cluster-test: tools proxies
	go run ./test/cluster with --name test -- test/run.sh ./test/kube/... -timeout 30m
	test/run.sh ./test/cluster -timeout 15m

# Go, and a C compiler for the race detector; modules come into Go's own cache.
tools:
	@command -v go >/dev/null || { echo "go is missing: install Go 1.26 or newer, https://go.dev/dl"; exit 1; }
	@command -v cc >/dev/null || { echo "a C compiler is missing (go test -race needs it): apt-get install gcc"; exit 1; }
