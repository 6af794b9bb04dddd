#!/bin/sh
# Builds the servers of other projects that ./test/conformance loads, in the cache directory, and installs the packages
# of ./examples there. Versions are pinned in go/go.mod, package-lock.json and requirements.txt. What is built already is
# kept.
set -eu
cd "$(dirname "$0")"
cache=${XDG_CACHE_HOME:-$HOME/.cache}/rpclab/conformance
mkdir -p "$cache"

# Go has a cache of its own.
go build -C go -o "$cache/etcd" go.etcd.io/etcd/server/v3
go build -C go -o "$cache/connect" ./connect

# install NAME FILES VERSION COMMAND... installs packages in the directory $part, completely or not at all, and again
# when a file or the version of the language has changed: compiled packages work with one version of Python.
install() {
	name=$1 files=$2 version=$3; shift 3
	# shellcheck disable=SC2086 # a file a word
	wanted="$version $(cat $files | cksum)"
	[ "$(cat "$cache/$name/wanted" 2>/dev/null)" = "$wanted" ] && return
	echo "installing the packages of the server in $name" >&2
	part=$(mktemp -d "$cache/part-XXXXXX")
	# shellcheck disable=SC2086
	cp $files "$part"
	"$@"
	echo "$wanted" >"$part/wanted"
	rm -rf "${cache:?}/$name"
	mv "$part" "$cache/$name"
}
packages_of_node() { npm ci --prefix "$part" --ignore-scripts --no-audit --no-fund --loglevel=error >/dev/null; }
packages_of_python() { python3 -m pip install --quiet --root-user-action ignore --disable-pip-version-check --no-deps --require-hashes --only-binary=:all: --target "$part" -r "$part/requirements.txt"; }
install node "node/package.json node/package-lock.json" "$(node --version)" packages_of_node
install python python/requirements.txt "$(python3 --version)" packages_of_python
examples=../../../examples
install node-service "$examples/node-service/package.json $examples/node-service/package-lock.json" "$(node --version)" packages_of_node
install python-service $examples/python-service/requirements.txt "$(python3 --version)" packages_of_python
