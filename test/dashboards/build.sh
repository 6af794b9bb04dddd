#!/bin/sh
# Builds the receiver of the OpenTelemetry collector, from collector/go.mod, in the cache directory. Go has a cache of its
# own.
set -eu
cd "$(dirname "$0")"
cache=${XDG_CACHE_HOME:-$HOME/.cache}/rpclab/dashboards
mkdir -p "$cache"
CGO_ENABLED=0 go build -C collector -o "$cache/collector" .
