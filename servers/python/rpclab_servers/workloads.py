"""The workloads, independent of the protocol."""

import dataclasses
import itertools
import random
import sys
import uuid
from collections.abc import Callable
from typing import Any

from rpclab_servers.backend import INVALID_ARGUMENT, OUT_OF_RANGE, Rejected

LARGEST_NUMBER = 2**32 - 1
LARGEST_FIBONACCI = 100_000
LARGEST_ORDER = 100_000

sys.set_int_max_str_digits(21_000)  # the largest Fibonacci number has 20,899 digits


@dataclasses.dataclass(frozen=True)
class Work:
    """One workload."""

    methods: tuple[str, ...]  # gRPC methods, unary and streaming
    path: str  # REST path; empty: none
    request: str  # name of the message
    respond: Callable[[Any], Any]
    wait: Callable[[], float] = lambda: 0  # seconds to delay the response


class Workloads:
    """All workloads. Messages are a namespace of protobuf or JSON classes with the same attributes."""

    def __init__(self, messages, id: str, delay: float, spread: float):
        self.messages, self.id, self.delay, self.spread = messages, id, delay, spread
        self.numbers = itertools.count(1)

    def all(self) -> list[Work]:
        return [
            Work(("SayHello", "Greetings"), "/greet", "HelloRequest", self.greet, self.greet_wait),
            Work(("Compute",), "/fibonacci", "FibonacciRequest", self.fibonacci),
            Work(("Increment",), "", "IncrementRequest", self.increment),
            Work(("Increase", "Increases"), "/increase", "Number", self.increase),
            Work(("PlaceOrder",), "/orders", "Order", self.order, self.order_wait),
        ]

    def greet(self, request):
        return self.messages.HelloReply(message=f"Hello, {request.name}", backend=self.id)

    def greet_wait(self) -> float:
        return self.delay

    def fibonacci(self, request):
        if request.n > LARGEST_FIBONACCI:
            why = f"n is {request.n}; the largest is {LARGEST_FIBONACCI}"
            raise Rejected(INVALID_ARGUMENT, why)
        a, b = 0, 1
        for _ in range(request.n):
            a, b = b, a + b
        return self.messages.FibonacciReply(value=str(a), server_name=self.id)

    def increment(self, _):
        return self.messages.IncrementReply(number=next(self.numbers), server_name=self.id)

    def increase(self, request):
        if request.value == LARGEST_NUMBER:
            raise Rejected(OUT_OF_RANGE, f"there is no number after {request.value}")
        return self.messages.Number(value=request.value + 1)

    def order(self, request):
        if (n := len(request.articles)) > LARGEST_ORDER:
            why = f"the order has {n} articles; the limit is {LARGEST_ORDER}"
            raise Rejected(INVALID_ARGUMENT, why)
        for i, article in enumerate(request.articles):
            if article.quantity < 1:
                why = f"article {i}: the quantity is {article.quantity}, but must be at least 1"
                raise Rejected(INVALID_ARGUMENT, why)
        return self.messages.OrderReply(id=str(uuid.uuid4()))

    def order_wait(self) -> float:
        return self.delay + random.uniform(0, self.spread)
