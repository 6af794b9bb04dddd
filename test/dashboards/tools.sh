#!/bin/sh
# Gets what test/dashboards needs: Prometheus and curl; what is there already stays.
# Prometheus is taken out of its Debian package into the user's cache and not installed,
# because its installation starts a service.
set -eu

if ! command -v curl >/dev/null; then
	if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
		echo "missing for test/dashboards: curl (Debian, as root: apt-get install --no-install-recommends curl)" >&2
		exit 1
	fi
	apt-get update -qq
	DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends curl ca-certificates
fi

home=${XDG_CACHE_HOME:-$HOME/.cache}/rpclab/dashboards
if command -v prometheus >/dev/null || [ -x "$home/prometheus" ]; then
	exit 0
fi
command -v apt-get >/dev/null || {
	echo "missing for test/dashboards: prometheus, which the Debian package prometheus has; put it into your PATH" >&2
	exit 1
}
mkdir -p "$home"
part=$(mktemp -d "$home/part-XXXXXX")
trap 'rm -rf "$part"' EXIT
cd "$part"
echo "getting prometheus out of its Debian package" >&2
# A new machine has no lists of packages yet, and only root may get them.
apt-get download -qq prometheus 2>/dev/null || { apt-get update -qq && apt-get download -qq prometheus; }
dpkg-deb -x prometheus_*.deb .
./usr/bin/prometheus --version >/dev/null 2>&1 # it runs on this system
# Complete or not at all: an interrupted run must not look like one that was not.
mv usr/bin/prometheus "$home/prometheus"
