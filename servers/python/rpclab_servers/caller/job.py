"""The job and the loads of a caller."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta


class Impossible(Exception):
    """A job or load that this caller cannot execute."""


Count = Annotated[int, Meta(ge=0)]
FibonacciN = Annotated[int, Meta(ge=0, le=100_000)]


class Message(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A part of a job or load. An unknown field is an error."""


class Empty(Message):
    pass


class Fibonacci(Message, rename={"first": "from", "last": "to"}):
    first: FibonacciN
    last: FibonacciN

    def __post_init__(self):
        if self.last < self.first:
            raise ValueError(f"fibonacci: from is {self.first}, but must not exceed {self.last}")


class Orders(Message):
    articles: Annotated[int, Meta(ge=0, le=100_000)] = 0


class Workload(Message):
    """Exactly one field is set."""

    greet: Empty | None = None
    fibonacci: Fibonacci | None = None
    increase: Empty | None = None
    orders: Orders | None = None

    def __post_init__(self):
        if sum(getattr(self, name) is not None for name in self.__struct_fields__) != 1:
            raise ValueError("exactly one of greet, fibonacci, increase and orders must be set")


class Keepalive(Message):
    """PINGs of a gRPC client."""

    time_ns: Annotated[int, Meta(gt=0)]
    timeout_ns: Annotated[int, Meta(gt=0)]
    without_calls: bool = False


class Job(Message):
    kind: str
    workload: Workload
    target: str = ""
    service_config: str = ""
    method: str = ""
    path: str = ""
    channel: Literal["shared", "per-call"] = "shared"
    stream: Literal["", "ping-pong", "pipelined"] = ""
    timeout_ns: Annotated[int, Meta(gt=0)] = 30_000_000_000
    compress: bool = False
    keepalive: Keepalive | None = None

    @property
    def timeout(self) -> float:
        """Seconds."""
        return self.timeout_ns / 1e9


class Closed(Message):
    users: Annotated[int, Meta(gt=0)]
    calls: Count = 0
    think_ns: Count = 0
    ramp_ns: Count = 0  # over which users start, evenly spaced
    duration_ns: Count = 0

    def __post_init__(self):
        if not self.calls and not self.duration_ns:
            raise ValueError("a closed load must have a limit: set calls or duration_ns")

    def due(self, n: int, user: int, answered: int | None) -> int | None:
        """When call n is due, in nanoseconds since the start; None: no more calls. answered is when
        the user (from 0) received the last response; None: the user has made no call."""
        due = self.ramp_ns * user // self.users if answered is None else answered + self.think_ns
        if self.calls and n >= self.calls or self.duration_ns and due >= self.duration_ns:
            return None
        return due


class Burst(Message):
    calls: Count

    def due(self, n: int) -> int | None:
        return 0 if n < self.calls else None


class Open(Message):
    rate: Annotated[float, Meta(gt=0)]
    duration_ns: Count
    first_ns: Count = 0  # when the first call is due, if other callers make calls before it

    def due(self, n: int) -> int | None:
        due = self.first_ns + int(n * 1e9 / self.rate)  # computed from n, so that rounding does not accumulate
        return due if due < self.duration_ns else None


class Load(Message):
    """Exactly one kind of load is set."""

    at_ns: Count = 0
    closed: Closed | None = None
    burst: Burst | None = None
    open: Open | None = None

    def __post_init__(self):
        if (self.closed, self.burst, self.open).count(None) != 2:
            raise ValueError("exactly one of closed, burst and open must be set")

    @property
    def all_calls(self) -> int:
        """The number of calls; 0: not fixed."""
        pace = self.closed or self.burst
        return pace.calls if pace else 0
