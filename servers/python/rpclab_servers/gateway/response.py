"""The responses of the gateway."""

from urllib.parse import urlencode

import grpc
import msgspec

BACKENDS = "Rpclab-Backends"  # header: calls by backend

JSON, TEXT = "application/json", "text/plain; charset=utf-8"

# The HTTP status for a gRPC status code; 502 for others.
STATUS = {
    "INVALID_ARGUMENT": 400,
    "OUT_OF_RANGE": 400,
    "DEADLINE_EXCEEDED": 504,
    "UNAVAILABLE": 503,
    "RESOURCE_EXHAUSTED": 503,
}


class Failure(Exception):
    """An error as an HTTP response."""

    def __init__(self, status: int, code: str, message: str):
        super().__init__(message)
        self.status, self.code, self.message = status, code, message

    @classmethod
    def of(cls, e: grpc.RpcError) -> "Failure":
        code = e.code().name
        return cls(STATUS.get(code, 502), code, f"{code}: {e.details()}")


class GatewayResponse:
    """Status, type, body and headers."""

    def __init__(
        self, status: int, media: str, body: bytes, backends: dict[str, int] | None = None
    ):
        self.status, self.body = status, body
        self.headers = {"Content-Type": media}
        if backends is not None:
            self.headers[BACKENDS] = urlencode(sorted(backends.items()))


def plain_text(text: str) -> GatewayResponse:
    return GatewayResponse(200, TEXT, text.encode())


def failed(e: Failure) -> GatewayResponse:
    return GatewayResponse(e.status, JSON, msgspec.json.encode({"error": e.message, "code": e.code}))


class AnsweredCalls:
    """The answered calls of a request."""

    def __init__(self, output: bool, single: bool):
        self.output, self.single = output, single
        self.calls: list[dict] = []
        self.backends: dict[str, int] = {}

    def add(self, server: str, value: str, n: int | None) -> None:
        self.backends[server] = self.backends.get(server, 0) + 1
        if self.output:
            number = {} if n is None else {"n": n}
            self.calls.append({"server_name": server, **number, "value": value})

    def response(self) -> GatewayResponse:
        if self.single:
            return GatewayResponse(200, JSON, msgspec.json.encode(self.calls[0]), self.backends)
        if self.output:
            return GatewayResponse(200, JSON, msgspec.json.encode({"calls": self.calls}), self.backends)
        each = ", ".join(f"{server} {n}" for server, n in sorted(self.backends.items()))
        text = f"calls answered: {sum(self.backends.values())} ({each})\n"
        return GatewayResponse(200, TEXT, text.encode(), self.backends)
