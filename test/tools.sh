#!/bin/sh
# Installs the Debian packages that make test needs besides Rust, Java, Python and npm: proxies,
# Chromium, Prometheus and the parts of test/cluster. What is installed already is kept.
set -eu
cache=${XDG_CACHE_HOME:-$HOME/.cache}/rpclab/dashboards

# A program by which one sees that a package is there, and the package.
missing=
while read -r program package; do
	PATH=$PATH:/usr/sbin:/sbin command -v "$program" >/dev/null || missing="$missing $package"
done <<-END
	haproxy haproxy
	nginx nginx-light
	nghttpx nghttp2-proxy
	chromium chromium fonts-dejavu-core
	curl curl ca-certificates
	containerd containerd
	runc runc
	/usr/lib/cni/ptp containernetworking-plugins
	nft nftables
	/bin/busybox busybox-static
	dnf dnf
	podman podman
END
prometheus=$(command -v prometheus || command -v "$cache/prometheus" || true)
if [ -n "$missing" ] || [ -z "$prometheus" ]; then
	if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
		echo "missing for the tests (Debian, as root: apt-get install --no-install-recommends): $missing${prometheus:- prometheus}" >&2
		exit 1
	fi
	apt-get update -qq
fi
if [ -n "$missing" ]; then
	# A package starts no service, such as a web server on port 80, unless the machine has a policy of its own. As in
	# internal/tool/services.go, ours has no effect once this script has ended, in whatever way.
	policy=${1:-/usr/sbin/policy-rc.d} # a test has another
	mark='# made by rpclab doctor --install'
	if [ ! -e "$policy" ] || grep -qF "$mark" "$policy"; then
		trap 'rm -f "$policy"' EXIT
		trap 'exit 130' INT # without these, dash does not run the line above after a signal
		trap 'exit 143' TERM HUP
		printf '#!/bin/sh\n%s, which removes it\nif kill -0 %d 2>/dev/null; then exit 101; fi\n' "$mark" $$ >"$policy"
		chmod 755 "$policy"
	fi
	echo "installing$missing" >&2
	# shellcheck disable=SC2086 # a package a word
	DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends -o DPkg::Lock::Timeout=300 $missing >/dev/null
fi
if [ -z "$prometheus" ]; then
	# Its installation would start a service, so only the program is unpacked.
	# The directory is complete or missing.
	mkdir -p "$cache"
	part=$(mktemp -d "$cache/part-XXXXXX")
	echo "getting prometheus out of its Debian package" >&2
	(cd "$part" && apt-get download -qq prometheus && dpkg-deb -x prometheus_*.deb .)
	"$part/usr/bin/prometheus" --version >/dev/null 2>&1
	mv "$part/usr/bin/prometheus" "$cache/prometheus"
	rm -rf "$part"
fi
