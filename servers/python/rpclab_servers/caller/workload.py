"""What calls ask for, and what is right."""

import uuid
from collections.abc import Callable
from typing import Any, NamedTuple

from rpclab_servers.caller.job import Job
from rpclab_servers.caller.output import NOBODY, OK, WRONG, Output

# What a call got: its code, the values of the answer's fields or why there are none, and by
# whom (empty: nobody says).
Got = tuple[int, Any, str]


class Asked(NamedTuple):
    """A workload as a caller sees it."""

    # The fields of call n's request, and whether they are of every call the same.
    fields: Callable[[int], dict]
    constant: bool
    answer: tuple[str, ...]  # the fields of an answer that are looked at
    # What call n + 1 asks for, given call n's answer and by whom it is; None: it is wrong.
    # The next call of a chain cannot be made without the answer before.
    following: Callable[[int, Any, str], int | None]
    request_name: str  # messages of protobuf
    reply_name: str


def asked(job: Job) -> Asked:
    w = job.workload
    if w.greet is not None:
        return Asked(
            lambda _: {"name": "rpclab"},
            True,
            ("message", "backend"),
            greeted,
            "HelloRequest",
            "HelloReply",
        )
    if w.fibonacci is not None:
        return fibonacci(w.fibonacci.first, w.fibonacci.last)
    if w.increase is not None:
        return Asked(lambda n: {"value": n}, False, ("value",), increased, "Number", "Number")
    return orders(w.orders.articles)


def greeted(n: int, answer, backend: str) -> int | None:
    return n + 1 if backend and answer == ("Hello, rpclab", backend) else None


def increased(n: int, answer, backend: str) -> int | None:
    return answer if backend and type(answer) is int and answer == n + 1 else None


def fibonacci(first: int, last: int) -> Asked:
    a, b, right = 0, 1, {}
    for n in range(last + 1):
        if n >= first:
            right[n] = hash(str(a))  # eight bytes of it are enough
        a, b = b, a + b

    def of(call: int) -> int:
        return first + call % (last - first + 1)

    def following(n: int, answer, backend: str) -> int | None:
        value, server_name = answer
        is_right = isinstance(value, str) and hash(value) == right[of(n)]
        return n + 1 if is_right and backend and server_name == backend else None

    return Asked(
        lambda n: {"n": of(n)},
        False,
        ("value", "server_name"),
        following,
        "FibonacciRequest",
        "FibonacciReply",
    )


def orders(articles: int) -> Asked:
    fields = {
        "articles": [
            {"id": f"article-{i:06d}", "quantity": i % 9 + 1, "unit_price": i % 1000 + 0.99}
            for i in range(articles)
        ]
    }

    def following(n: int, answer, backend: str) -> int | None:
        try:
            uuid.UUID(answer)
        except (AttributeError, TypeError, ValueError):
            return None
        return n + 1 if backend else None

    return Asked(lambda _: fields, True, ("id",), following, "Order", "OrderReply")


class Judge:
    """Says what became of calls, when their time has been taken."""

    def __init__(self, asked: Asked, output: Output):
        self.following, self.output = asked.following, output

    def __call__(self, n: int, code: int, answer, backend: str) -> tuple[int, int, int]:
        """The code of a call that asked for n, the number of its backend, and what the next one
        asks for."""
        if code != OK:
            self.output.sample(code, answer)
            return code, NOBODY, n + 1
        number = self.output.backend(backend) if backend else NOBODY
        following = self.following(n, answer, backend)
        if following is None:
            why = f"wrong answer {str(answer)[:200]} to call {n}, by {backend!r}"
            self.output.sample(WRONG, why)
            return WRONG, number, n + 1
        return OK, number, following
