"""The gRPC calls of a request, for both models."""

import random
import time
from collections.abc import Iterator

from rpclab_servers.gateway.metrics import Metrics
from rpclab_servers.gateway.query import Query, numbers_of
from rpclab_servers.gateway.response import (
    AnsweredCalls,
    Failure,
    GatewayResponse,
    failed,
    plain_text,
)
from rpclab_servers.grpc_services import MESSAGES
from rpclab_servers.workloads import LARGEST_FIBONACCI

CALL_TIMEOUT = 30  # seconds
REQUEST_TIMEOUT = 15 * 60  # seconds, all calls of a request
MAX_IN_FLIGHT = 256  # requests

PATHS = ("/fibonacci", "/fibonacci/random", "/increment")


class Method:
    """A gRPC method."""

    def __init__(self, path: str, request: type, reply: type):
        self.path = path
        self.label = path.rpartition(".")[2]  # Fibonacci/Compute
        self.codec = {
            "request_serializer": request.SerializeToString,
            "response_deserializer": reply.FromString,
            "_registered_method": True,  # as in generated stubs
        }


COMPUTE = Method("/rpclab.v1.Fibonacci/Compute", MESSAGES.FibonacciRequest, MESSAGES.FibonacciReply)
INCREMENT = Method(
    "/rpclab.v1.Counter/Increment", MESSAGES.IncrementRequest, MESSAGES.IncrementReply
)


class Request:
    """The calls of one request, made one after another until a call fails."""

    def __init__(self, api: "API", method: Method, numbers: Iterator, output=False, single=False):
        self.api, self.method, self.numbers = api, method, numbers
        self.answered = AnsweredCalls(output or single, single)
        self.until = time.monotonic() + REQUEST_TIMEOUT

    def messages(self) -> Iterator[tuple[int | None, object]]:
        """The number and the message of each call."""
        for n in self.numbers:
            if time.monotonic() > self.until:
                why = f"the calls of the request took more than {REQUEST_TIMEOUT} s"
                raise Failure(504, "DEADLINE_EXCEEDED", why)
            yield n, INCREMENT_REQUEST if n is None else MESSAGES.FibonacciRequest(n=n)

    def record(self, n: int | None, reply) -> None:
        """Check and record a response."""
        if n is None:
            value = str(reply.number)
        else:
            value = reply.value
            self.api.check(n, value, reply.server_name)
        self.api.metrics.count(self.method.label, reply.server_name)
        self.answered.add(reply.server_name, value, n)


INCREMENT_REQUEST = MESSAGES.IncrementRequest(name="gateway")


class API:
    """The interface of the published balancing study."""

    def __init__(self, mode: str, seed: int | None):
        self.metrics = Metrics(mode)
        self.random = random.Random(seed)
        self.right: dict[int, int] = {}  # hashes of the decimal numbers

    def handle(self, method: str, path: str, query: str) -> GatewayResponse | Request:
        """The response to a request, or the calls that it makes."""
        try:
            match method, path:
                case "GET", "/metrics":
                    return GatewayResponse(200, *self.metrics.text())
                case "GET", "/-/ready":
                    return plain_text("ready\n")
                case "POST", "/-/reset":
                    self.metrics.reset()
                    return plain_text("counters reset to 0\n")
                case "GET", _ if path in PATHS:
                    return self.request(path, Query(query))
            raise Failure(
                404,
                "UNIMPLEMENTED",
                f"unknown request {method} {path}: use GET {', '.join(PATHS)}, /metrics or"
                " /-/ready, or POST /-/reset",
            )
        except Failure as e:
            return failed(e)

    def request(self, path: str, query: Query) -> Request:
        if path == "/fibonacci":
            n = query.number("n", None, 0, LARGEST_FIBONACCI)
            query.end()
            return Request(self, COMPUTE, iter([n]), single=True)
        if path == "/increment":
            iterations, output = query.iterations(), query.boolean("output")
            query.end()
            return Request(self, INCREMENT, iter([None] * iterations), output)
        iterations, output, draw = numbers_of(query, self.random.randint)
        return Request(self, COMPUTE, (draw() for _ in range(iterations)), output)

    def check(self, n: int, value: str, server: str) -> None:
        want = self.right.get(n)
        if want is None:
            want = self.right[n] = hash(str(fibonacci(n)))  # the hash saves memory
        if hash(value) != want:
            why = f"{server}: wrong response: {value[:40]!r} is not the Fibonacci number {n}"
            raise Failure(502, "DATA_LOSS", why)


def fibonacci(n: int) -> int:
    """The n-th number by fast doubling, a different method from the server's (Knuth, TAOCP 1,
    1.2.8)."""
    a, b = 0, 1
    for bit in f"{n:b}":
        a, b = a * (2 * b - a), a * a + b * b
        if bit == "1":
            a, b = b, a + b
    return a
