"""The servers under test."""

import importlib
import logging
import resource
import socket
import sys

from rpclab_servers import flags
from rpclab_servers.backend import Backend

# A model's module is loaded alone: what others take of memory is not to be measured.
MODULES = {
    "grpc-sync": "grpc_sync",
    "grpc-aio": "grpc_aio",
    "flask": "rest_flask",
    "starlette": "rest_starlette",
}


def main() -> None:
    told = flags.parse()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))  # a connection is a file
    model = importlib.import_module(f"rpclab_servers.{MODULES[told.model]}")
    model.serve(told, Backend(told.id))


def bound(address: tuple[str, int]) -> socket.socket:
    """A socket at the address that does not listen yet: who can connect can also stop it."""
    family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
    s = socket.socket(family)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        s.bind(address)
    except OSError as e:
        sys.exit(f"cannot listen on {address[0]}:{address[1]}: {e}")
    return s
