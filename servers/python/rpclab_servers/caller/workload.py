"""The requests of a workload, and the check of its responses."""

import uuid
from collections.abc import Callable
from typing import Any, NamedTuple

from rpclab_servers.caller.job import Job
from rpclab_servers.caller.output import NOBODY, OK, WRONG, Output

# The result of a call: its code, the fields of the response or the error message, and the
# backend (empty: unknown).
Outcome = tuple[int, Any, str]


class WorkloadSpec(NamedTuple):
    """The requests of a workload and the check of its responses."""

    # The fields of call n's request, and whether they are the same for every call.
    fields: Callable[[int], dict]
    constant: bool
    response: tuple[str, ...]  # the fields of a response that are checked
    # The number that call n + 1 sends, given call n's response and backend; None: the response is
    # wrong. A chain needs the response before it makes the next call.
    following: Callable[[int, Any, str], int | None]
    request_name: str  # protobuf messages
    reply_name: str


def spec(job: Job) -> WorkloadSpec:
    workload = job.workload
    if workload.greet is not None:
        return WorkloadSpec(
            lambda _: {"name": "rpclab"},
            True,
            ("message", "backend"),
            greeted,
            "HelloRequest",
            "HelloReply",
        )
    if workload.fibonacci is not None:
        return fibonacci(workload.fibonacci.first, workload.fibonacci.last)
    if workload.increase is not None:
        return WorkloadSpec(
            lambda n: {"value": n}, False, ("value",), increased, "Number", "Number"
        )
    return orders(workload.orders.articles)


def greeted(n: int, response, backend: str) -> int | None:
    return n + 1 if backend and response == ("Hello, rpclab", backend) else None


def increased(n: int, response, backend: str) -> int | None:
    return response if backend and type(response) is int and response == n + 1 else None


def fibonacci(first: int, last: int) -> WorkloadSpec:
    a, b, right = 0, 1, {}
    for n in range(last + 1):
        if n >= first:
            right[n] = hash(str(a))  # the hash saves memory
        a, b = b, a + b

    def number_of(call: int) -> int:
        return first + call % (last - first + 1)

    def following(n: int, response, backend: str) -> int | None:
        if type(response) is not tuple:  # the text of a body without these fields
            return None
        value, server_name = response
        is_right = isinstance(value, str) and hash(value) == right[number_of(n)]
        return n + 1 if is_right and backend and server_name == backend else None

    return WorkloadSpec(
        lambda n: {"n": number_of(n)},
        False,
        ("value", "server_name"),
        following,
        "FibonacciRequest",
        "FibonacciReply",
    )


def orders(articles: int) -> WorkloadSpec:
    fields = {
        "articles": [
            {"id": f"article-{i:06d}", "quantity": i % 9 + 1, "unit_price": i % 1000 + 0.99}
            for i in range(articles)
        ]
    }

    def following(n: int, response, backend: str) -> int | None:
        try:
            uuid.UUID(response)
        except (AttributeError, TypeError, ValueError):
            return None
        return n + 1 if backend else None

    return WorkloadSpec(lambda _: fields, True, ("id",), following, "Order", "OrderReply")


class Checker:
    """Checks responses, outside of the measured time."""

    def __init__(self, spec: WorkloadSpec, output: Output):
        self.following, self.output = spec.following, output

    def __call__(self, n: int, code: int, response, backend: str) -> tuple[int, int, int]:
        """The code of call n, the number of its backend, and the number that the next call sends."""
        if code != OK:
            self.output.sample(code, response)
            return code, NOBODY, n + 1
        number = self.output.backend(backend) if backend else NOBODY
        following = self.following(n, response, backend)
        if following is None:
            why = f"wrong response {str(response)[:200]} to call {n}, by {backend!r}"
            self.output.sample(WRONG, why)
            return WRONG, number, n + 1
        return OK, number, following
