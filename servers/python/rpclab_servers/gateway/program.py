"""The main program of the gateway."""

import argparse
import importlib
import os
import resource
import socket
import sys
import threading

from rpclab_servers.backend import SUPERVISOR_GONE
from rpclab_servers.flags import add_listen, check_listen
from rpclab_servers.gateway.calls import API
from rpclab_servers.server import bound

# The module of each model. Only that module is loaded.
MODELS = {"one-thread": "model_threads", "threads": "model_threads", "async": "model_async"}


def main(args: list[str]) -> None:
    settings = parse(args)
    for name in list(os.environ):
        if name.lower().endswith("_proxy"):  # do not call through a proxy
            del os.environ[name]
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))  # a connection is a file
    listener = bound(settings.listen)
    model = importlib.import_module(f"rpclab_servers.gateway.{MODELS[settings.model]}")
    model.serve(settings, API(settings.mode, settings.seed), listener)


def ready(settings, listening: str) -> None:
    """Print the address. Exit when the supervisor is gone."""
    if not settings.supervised:
        print(f"rpclab: gateway on http://{listening}", file=sys.stderr)
        return
    os.write(1, f"serving {listening}\n".encode())
    threading.Thread(target=_exit_with_supervisor, name="supervisor", daemon=True).start()


def _exit_with_supervisor() -> None:
    while os.read(0, 4096):
        pass
    os._exit(SUPERVISOR_GONE)


def name_of(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def parse(args: list[str]) -> argparse.Namespace:
    flags = argparse.ArgumentParser(
        prog="rpclab_servers gateway",
        description="Makes gRPC calls for HTTP requests, as in the published balancing study.",
        allow_abbrev=False,
    )
    add_listen(flags, 8080)
    flags.add_argument("--target", required=True, help="comma-separated addresses, or a URI")
    flags.add_argument("--service-config", help="JSON; default: round robin")
    flags.add_argument("--model", choices=MODELS, default="threads")
    flags.add_argument(
        "--channel",
        choices=("shared", "per-request", "own-connection"),
        help="the channel of an HTTP request's calls",
    )
    flags.add_argument("--mode", default="", help="label of grpc_requests_total")
    flags.add_argument("--seed", type=int, help="seed of the random numbers")
    flags.add_argument("--supervised", action="store_true", help="exit when standard input ends")
    settings = flags.parse_args(args)
    check_listen(flags, settings)
    if settings.channel is None:  # as published
        settings.channel = "per-request" if settings.model == "async" else "shared"
    if settings.service_config is None:
        settings.service_config = '{"loadBalancingConfig": [{"round_robin": {}}]}'
    if "," in settings.target:
        settings.target = f"ipv4:{settings.target}"
    return settings


def options(settings) -> list[tuple[str, str | int]]:
    """The options of a channel."""
    every: list[tuple[str, str | int]] = [("grpc.enable_http_proxy", 0)]
    if settings.channel == "own-connection":  # else channels to one address share a connection
        every.append(("grpc.use_local_subchannel_pool", 1))
    if settings.service_config:
        every.append(("grpc.service_config", settings.service_config))
    return every
