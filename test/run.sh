#!/bin/sh
# run.sh PACKAGES [GO TEST FLAGS]: runs tests, and once more each that failed (docs/decisions/0016-twice.md).
# It does not run go vet: make lint runs it for all packages.
set -eu
packages=$1; shift
events=$(mktemp); trap 'rm -f "$events"' EXIT
go run gotest.tools/gotestsum@v1.13.0 --format pkgname --format-hide-empty-pkg --jsonfile "$events" \
  --rerun-fails=1 --rerun-fails-max-failures=6 --rerun-fails-run-root-test --rerun-fails-abort-on-data-race \
  --packages="$packages" -- -count=1 -vet=off "$@"
# A leak belongs to no test, so that it would be gone when none runs again.
if grep 'found unexpected goroutines' "$events" >&2; then
  echo "the packages named above leave goroutines behind" >&2
  exit 1
fi
