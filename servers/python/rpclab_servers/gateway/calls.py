"""The calls that requests make, whatever makes them."""

import random
import time
from collections.abc import Iterator

from rpclab_servers.gateway.answer import Answer, Failure, Made, failed, words
from rpclab_servers.gateway.meters import Meters
from rpclab_servers.gateway.query import Query, numbers_of
from rpclab_servers.grpc_services import MESSAGES
from rpclab_servers.workloads import LARGEST_FIBONACCI

CALL_TIMEOUT = 30  # seconds
REQUEST_TIMEOUT = 15 * 60  # seconds of all calls of a request
MOST_AT_ONCE = 256  # requests

PATHS = ("/fibonacci", "/fibonacci/random", "/increment")


class Method:
    """One of gRPC."""

    def __init__(self, path: str, request: type, reply: type):
        self.path = path
        self.label = path.rpartition(".")[2]  # Fibonacci/Compute
        self.codec = {
            "request_serializer": request.SerializeToString,
            "response_deserializer": reply.FromString,
            "_registered_method": True,  # as in the stubs that protoc's plugin generates
        }


COMPUTE = Method(
    "/rpclab.v1.Fibonacci/Compute", MESSAGES.FibonacciRequest, MESSAGES.FibonacciReply
)
INCREMENT = Method(
    "/rpclab.v1.Counter/Increment", MESSAGES.IncrementRequest, MESSAGES.IncrementReply
)


class Request:
    """The calls of one request, of one method: made one after the other, until one fails."""

    def __init__(self, study: "Study", method: Method, numbers: Iterator, output=False, single=False):
        self.study, self.method, self.numbers = study, method, numbers
        self.made = Made(output or single, single)
        self.until = time.monotonic() + REQUEST_TIMEOUT

    def messages(self) -> Iterator[tuple[int | None, object]]:
        """What is asked for, and its message."""
        for n in self.numbers:
            if time.monotonic() > self.until:
                why = f"its calls took more than {REQUEST_TIMEOUT} s"
                raise Failure(504, "DEADLINE_EXCEEDED", why)
            yield n, IN_WORDS if n is None else MESSAGES.FibonacciRequest(n=n)

    def take(self, n: int | None, reply) -> None:
        """What a call was answered with."""
        if n is None:
            value = str(reply.number)
        else:
            value = reply.value
            self.study.check(n, value, reply.server_name)
        self.study.meters.count(self.method.label, reply.server_name)
        self.made.add(reply.server_name, value, n)


IN_WORDS = MESSAGES.IncrementRequest(name="gateway")


class Study:
    """Study 1: what requests ask for, and what is right."""

    def __init__(self, mode: str, seed: int | None):
        self.meters = Meters(mode)
        self.random = random.Random(seed)
        self.right: dict[int, int] = {}  # hashes of numbers, in decimal

    def answer(self, method: str, path: str, query: str) -> Answer | Request:
        """The answer of a request that makes no calls, or the calls that it makes."""
        try:
            match method, path:
                case "GET", "/metrics":
                    return Answer(200, *self.meters.text())
                case "GET", "/-/ready":
                    return words("ready\n")
                case "POST", "/-/reset":
                    self.meters.reset()
                    return words("the counters are 0 again\n")
                case "GET", _ if path in PATHS:
                    return self.request(path, Query(query))
            raise Failure(
                404,
                "UNIMPLEMENTED",
                f"there is no {method} {path}; there are GET {', '.join(PATHS)}, /metrics and"
                " /-/ready, and POST /-/reset",
            )
        except Failure as e:
            return failed(e)

    def request(self, path: str, query: Query) -> Request:
        if path == "/fibonacci":
            n = query.number("n", None, 0, LARGEST_FIBONACCI)
            query.end()
            return Request(self, COMPUTE, iter([n]), single=True)
        if path == "/increment":
            iterations, output = query.iterations(), query.truth("output")
            query.end()
            return Request(self, INCREMENT, iter([None] * iterations), output)
        iterations, output, draw = numbers_of(query, self.random.randint)
        return Request(self, COMPUTE, (draw() for _ in range(iterations)), output)

    def check(self, n: int, value: str, server: str) -> None:
        want = self.right.get(n)
        if want is None:
            want = self.right[n] = hash(str(fibonacci(n)))  # eight bytes of it are enough
        if hash(value) != want:
            why = f"{server}: wrong answer: {value[:40]!r} is not the Fibonacci number {n}"
            raise Failure(502, "DATA_LOSS", why)


def fibonacci(n: int) -> int:
    """The n-th number by fast doubling, and so by other means than the server's (Knuth, TAOCP
    1, 1.2.8)."""
    a, b = 0, 1
    for bit in f"{n:b}":
        a, b = a * (2 * b - a), a * a + b * b
        if bit == "1":
            a, b = b, a + b
    return a
