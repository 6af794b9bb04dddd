#!/bin/sh
# servers/java/build.sh OUT REPOSITORY builds the server with Maven, into OUT, and puts what Maven fetches
# into REPOSITORY. It fails unless each of these files is as in checksums.sha256: libraries, Maven's own
# plugins, their descriptions, protoc. Maven 3.9 or newer checks each before it uses it; before that version,
# this script checks them before the server runs. After a change of pom.xml, with an empty REPOSITORY:
#
#   cd REPOSITORY && find . -name '*.jar' -o -name '*.pom' -o -name '*.exe' | xargs sha256sum | sed 's|\./||' | sort -k 2
#
# and the files protoc and protoc-gen-grpc-java of other platforms.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
sha256=sha256sum
command -v sha256sum >/dev/null || sha256="shasum --algorithm 256"

# verify fails unless the files of a directory are among those of a list.
verify() {
	unknown=$(cd "$1" && find . -type f \( -name '*.jar' -o -name '*.pom' -o -name '*.exe' \) ! -name server-1.jar -exec $sha256 {} + |
		sed 's|  \./|  |' | grep -vxF -f "$2") || return 0
	printf '%s\n' "$unknown" | sed "s|.*  |$1/|; s|\$| is not as in servers/java/checksums.sha256; remove it and build again|" >&2
	exit 1
}

checked=aether.artifactResolver.postProcessor.trustedChecksums
trusted=aether.trustedChecksumsSource.summaryFile
mkdir -p "$1" "$2"
mvn --quiet --batch-mode --strict-checksums -Dstyle.color=never --file "$here/pom.xml" "-Dout=$1" "-Dmaven.repo.local=$2" "-D$checked=true" "-D$checked.checksumAlgorithms=SHA-256" "-D$checked.failIfMissing=true" "-D$trusted=true" "-D$trusted.basedir=$here" "-D$trusted.originAware=false" process-classes
verify "$2" "$here/checksums.sha256"
sed 's|  .*/|  |' "$here/checksums.sha256" >"$1/libraries.sha256"
verify "$1/lib" "$1/libraries.sha256"
