"""The gateway's program."""

import argparse
import importlib
import os
import resource
import socket
import sys
import threading

from rpclab_servers.backend import SUPERVISOR_GONE
from rpclab_servers.flags import address
from rpclab_servers.gateway.calls import Study
from rpclab_servers.server import bound

# The module of each model; it is loaded alone, as a user's program would.
MODELS = {"one-thread": "threads", "threads": "threads", "async": "asynchronous"}


def main(args: list[str]) -> None:
    told = parse(args)
    for name in list(os.environ):
        if name.lower().endswith("_proxy"):  # calls go straight to their target
            del os.environ[name]
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))  # a connection is a file
    listener = bound(told.listen)
    model = importlib.import_module(f"rpclab_servers.gateway.{MODELS[told.model]}")
    model.serve(told, Study(told.mode, told.seed), listener)


def ready(told, listening: str) -> None:
    """Say where it listens, now that it answers, and end with the supervisor."""
    if not told.supervised:
        print(f"rpclab: gateway on http://{listening}", file=sys.stderr)
        return
    os.write(1, f"serving {listening}\n".encode())
    threading.Thread(target=_outlive_nobody, name="supervisor", daemon=True).start()


def _outlive_nobody() -> None:
    while os.read(0, 4096):
        pass
    os._exit(SUPERVISOR_GONE)


def name_of(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def parse(args: list[str]) -> argparse.Namespace:
    flags = argparse.ArgumentParser(
        prog="rpclab_servers gateway",
        description="Makes gRPC calls for HTTP requests, as in study 1.",
        allow_abbrev=False,
    )
    flags.add_argument("--listen", type=address, default=("127.0.0.1", 8080), metavar="HOST:PORT")
    flags.add_argument("--target", required=True, help="addresses with commas between, or a URI")
    flags.add_argument("--service-config", help="JSON; addresses alone are taken in turn")
    flags.add_argument("--model", choices=MODELS, default="threads")
    flags.add_argument("--channel", choices=("shared", "per-request"), help="of an HTTP request")
    flags.add_argument("--mode", default="", help="label of grpc_requests_total")
    flags.add_argument("--seed", type=int, help="of the numbers that are drawn")
    flags.add_argument("--supervised", action="store_true", help="end with standard input")
    told = flags.parse_args(args)
    if told.channel is None:  # as published
        told.channel = "per-request" if told.model == "async" else "shared"
    if told.service_config is None:
        told.service_config = '{"loadBalancingConfig": [{"round_robin": {}}]}'
    if "," in told.target:
        told.target = f"ipv4:{told.target}"
    return told


def options(told) -> list[tuple[str, str | int]]:
    """A channel's."""
    every: list[tuple[str, str | int]] = [("grpc.enable_http_proxy", 0)]
    if told.service_config:
        every.append(("grpc.service_config", told.service_config))
    return every
