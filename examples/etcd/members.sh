#!/bin/sh
# Starts three members of etcd on this machine, until Ctrl-C: sh members.sh [PORT PORT PORT]
# Members talk to each other at the port after that for clients, as in etcd's own Procfile.
set -eu
[ $# -eq 3 ] || set -- 2379 22379 32379
data=$(mktemp -d)
members=
trap exit INT TERM
trap '{ kill -9 $members; wait; } 2>/dev/null || true; rm -rf "$data"' EXIT

cluster=member-$1=http://127.0.0.1:$(($1 + 1)),member-$2=http://127.0.0.1:$(($2 + 1)),member-$3=http://127.0.0.1:$(($3 + 1))
for port; do
	client=http://127.0.0.1:$port peer=http://127.0.0.1:$((port + 1))
	etcd --name "member-$port" --data-dir "$data/$port" --log-level error --initial-cluster "$cluster" \
		--listen-client-urls "$client" --advertise-client-urls "$client" \
		--listen-peer-urls "$peer" --initial-advertise-peer-urls "$peer" &
	members="$members $!"
done
wait
