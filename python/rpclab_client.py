"""Makes a program a client that rpclab measures: `caller: {command: [python3, my_client.py]}` in an experiment
(docs/your-client.md). rpclab says when a call is due; the program makes the call as it always does."""

import json
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor


class Error(Exception):
    """A failed call with a code of your own, such as TOO_FEW for a response with too few items. A code has at most 40
    capital letters, digits and _."""

    def __init__(self, code: str, message: str = ""):
        super().__init__(message)
        self.code = code


class Call:
    """A call to make: its number, which no other call of the load has, and its deadline in seconds. The program can set
    backend, the address or the name of the server that answered."""

    def __init__(self, number: int, timeout: float):
        self.number, self.timeout, self.backend = number, timeout, ""


def run(open_client, threads: int = 200) -> None:
    """Call open_client(job) once, and the function that it returns with each Call, in threads.

    job is a dict: target (what to dial), call (workload.call), timeout_ns, service_config (of the route).
    An exception is a failed call; its code is that of an Error or of a gRPC error, or UNKNOWN."""
    output, lock = sys.stdout, threading.Lock()
    sys.stdout = sys.stderr  # what the program prints is not for rpclab
    line = sys.stdin.readline()
    if not line:
        sys.exit("no job on standard input: rpclab starts this program, by caller.command")
    job = json.loads(line)
    make, timeout = open_client(job), job["timeout_ns"] / 1e9

    def write(answer: dict) -> None:
        with lock:
            output.write(json.dumps(answer, default=str) + "\n")
            output.flush()

    def measure(number: int) -> None:
        call, code, message = Call(number, timeout), "OK", ""
        sent, started = time.time_ns(), time.monotonic_ns()
        try:
            make(call)
            took = time.monotonic_ns() - started
        except BaseException as e:  # noqa: BLE001 - every exception is an outcome, SystemExit too
            took = time.monotonic_ns() - started
            code, message = code_of(e), str(e)[:500]
        write(
            {
                "call": number,
                "sent": sent,
                "done": sent + took,
                "code": code,
                "message": message,
                "backend": call.backend,
            }
        )

    write({"ready": True})
    with ThreadPoolExecutor(threads) as pool:
        for line in sys.stdin:
            pool.submit(measure, int(line))


def run_grpc(new_stub, make_call, options=None, threads: int = 200) -> None:
    """Run a client with one channel, which grpcio opens in clear text with these options.

    new_stub is a class that protoc generated, such as GreeterStub. make_call(stub, call) makes each Call."""
    import grpc  # run needs no package

    def open_client(job: dict):
        stub = new_stub(grpc.insecure_channel(job["target"], options))
        return lambda call: make_call(stub, call)

    run(open_client, threads)


def code_of(error: BaseException) -> str:
    """The code of an Error or a gRPC error; UNKNOWN without one, since OK is no failure."""
    code = getattr(error, "code", None)
    name = code if isinstance(error, Error) else getattr(code(), "name", "") if callable(code) else ""
    return "UNKNOWN" if name in ("", "OK") else name
