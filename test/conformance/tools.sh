#!/bin/sh
# Installs the servers that the conformance run calls; what is there already stays.
set -eu

# missing PROGRAM PACKAGE prints the package when the program is not there.
missing() {
	PATH=$PATH:/usr/sbin command -v "$1" >/dev/null || echo "$2"
}

packages=$(missing nginx nginx-light; missing haproxy haproxy)
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
