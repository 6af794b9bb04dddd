"""The servers under test."""

import importlib
import logging
import resource
import socket
import sys

from rpclab_servers import flags
from rpclab_servers.backend import Backend

# Connections not yet accepted: with fewer than in other languages, clients that connect at the same
# time would wait seconds for a retransmission.
BACKLOG = 4096

# The module of each model. Only that module is loaded, so that others do not add to the memory.
MODULES = {
    "grpc-sync": "grpc_sync",
    "grpc-aio": "grpc_aio",
    "flask": "rest_flask",
    "starlette": "rest_starlette",
}


def main() -> None:
    settings = flags.parse()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))  # a connection is a file
    model = importlib.import_module(f"rpclab_servers.{MODULES[settings.model]}")
    model.serve(settings, Backend(settings.id))


def bound(address: tuple[str, int]) -> socket.socket:
    """A bound socket that does not listen yet: signal handlers are installed before clients connect."""
    family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
    listener = socket.socket(family)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(address)
    except OSError as e:
        sys.exit(f"cannot listen on {address[0]}:{address[1]}: {e}")
    return listener
