#!/bin/sh
# Gets what test/browser needs: Chromium; what is there already stays.
set -eu

for name in chromium chromium-browser google-chrome; do
	command -v "$name" >/dev/null && exit 0
done
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
	echo "missing for test/browser: chromium (Debian, as root: apt-get install --no-install-recommends chromium fonts-dejavu-core)" >&2
	exit 1
fi
echo "getting chromium" >&2
apt-get update -qq
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core
