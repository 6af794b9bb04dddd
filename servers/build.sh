#!/bin/sh
# Builds the server of one language outside the tree and prints what runs it, an
# argument a line: servers/build.sh rust|java. Quick when nothing has changed.
set -eu
cd "$(dirname "$0")"
out=${XDG_CACHE_HOME:-$HOME/.cache}/rpclab/servers

# need PROGRAM HOW says how to get a program that is missing.
need() {
	command -v "$1" >/dev/null || { echo "$1 is missing, which builds this server: $2" >&2; exit 1; }
}

case ${1-} in
rust)
	need cargo "install Rust 1.88 or newer, https://rustup.rs"
	cargo build --quiet --release --locked --manifest-path rust/Cargo.toml --target-dir "$out/rust" >&2
	echo "$out/rust/release/rpclab-greeter"
	;;
*)
	echo "usage: servers/build.sh rust" >&2
	exit 2
	;;
esac
