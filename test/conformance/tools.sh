#!/bin/sh
# Installs the servers that the conformance run calls; what is there already stays.
set -eu

# The proxies that routes need, too.
(cd "$(dirname "$0")/../.." && go run ./cmd/rpclab doctor --install)

if ! command -v nghttpx >/dev/null; then
	if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
		echo "missing for test/conformance: install nghttp2-proxy (Debian, as root: apt-get install --no-install-recommends nghttp2-proxy)" >&2
		exit 1
	fi
	apt-get update -qq
	DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends nghttp2-proxy
fi

# Our own servers in other languages; the tests build what has changed since.
for language in rust java python; do
	"$(dirname "$0")/../../servers/build.sh" "$language" >/dev/null
done
