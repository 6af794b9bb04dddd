"""The main program of the caller."""

import importlib
import os
import resource
import sys

import msgspec

from rpclab_servers.caller.job import Impossible, Job, Load
from rpclab_servers.caller.output import Calls, Output

# The module of each kind. Only that module is loaded.
KINDS = {
    "grpc-sync": "grpc_sync",
    "grpc-aio": "grpc_aio",
    "requests": "rest",
    "requests-session": "rest",
    "httpx": "rest",
    "function": "function",
}


def main() -> int:
    output = Output()
    for name in list(os.environ):
        if name.lower().endswith("_proxy"):  # do not call through a proxy
            del os.environ[name]
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))  # a connection is a file
    try:
        with open_session(decode(sys.stdin.buffer.readline(), Job), output) as session:
            output.frame(b"R")
            for line in sys.stdin.buffer:
                load = decode(line, Load)
                session.check(load)
                with Calls(output, load.at_ns) as calls:
                    session.run(load, calls)
    except Impossible as e:
        output.frame(b"X", str(e).encode())
        return 1
    return 0


def open_session(job: Job, output: Output):
    """The session of a job: a context with check(load) and run(load, calls)."""
    if job.kind not in KINDS:
        raise Impossible(f"no caller {job.kind!r}; known names: {', '.join(KINDS)}")
    module = importlib.import_module(f"rpclab_servers.caller.{KINDS[job.kind]}")
    return module.Session(job, output)


def decode(line: bytes, kind: type):
    try:
        return msgspec.json.decode(line, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError) as e:
        text = line.decode(errors="replace").strip()
        raise Impossible(f"{kind.__name__.lower()} {text!r}: {e}") from e
