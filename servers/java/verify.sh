#!/bin/sh
# Fails unless the libraries in a directory are those of checksums.txt, and no others. After a change
# of pom.xml: cd DIRECTORY && sha256sum *.jar | grep -v ' server-1.jar' >servers/java/checksums.txt
set -eu
sums=$(cd "$(dirname "$0")" && pwd)/checksums.txt
cd "$1"
for library in *.jar; do
	[ "$library" = server-1.jar ] || grep -q " $library\$" "$sums" || { echo "$library is not in servers/java/checksums.txt" >&2; exit 1; }
done
if command -v sha256sum >/dev/null; then
	sha256sum --check --quiet "$sums"
else
	shasum --algorithm 256 --check --quiet "$sums"
fi
