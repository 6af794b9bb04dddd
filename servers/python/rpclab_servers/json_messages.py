"""The messages as JSON, with the names of the protobuf files. Both REST models use them, so that
only the server differs."""

from typing import Annotated

import msgspec
from msgspec import Meta

from rpclab_servers.backend import INVALID_ARGUMENT, OUT_OF_RANGE, UNAVAILABLE, Rejected

LARGEST_BODY = 16 << 20  # bytes: the largest order

Uint32 = Annotated[int, Meta(ge=0, le=2**32 - 1)]
Int32 = Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)]


class Message(msgspec.Struct, forbid_unknown_fields=True):
    pass


class HelloRequest(Message):
    name: str = ""


class HelloReply(Message):
    message: str
    backend: str


class FibonacciRequest(Message):
    n: Uint32 = 0


class FibonacciReply(Message):
    value: str
    server_name: str


class Number(Message):
    value: Uint32 = 0


class Article(Message):
    id: str = ""
    quantity: Int32 = 0
    unit_price: float = 0


class Order(Message):
    articles: list[Article] = []


class OrderReply(Message):
    id: str


def decoder(kind: type[Message]):
    """A function that decodes a body as a kind of message, or raises Rejected."""
    decode = msgspec.json.Decoder(kind).decode

    def read(body: bytes) -> Message:
        try:
            return decode(body)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as e:
            raise Rejected(INVALID_ARGUMENT, f"the body is not valid JSON for this path: {e}") from e

    return read


encode = msgspec.json.encode


def status(code: int) -> int:
    """The HTTP status for a gRPC status code."""
    if code in (INVALID_ARGUMENT, OUT_OF_RANGE):
        return 400
    return 503 if code == UNAVAILABLE else 500


def error_body(why: str) -> bytes:
    return encode({"error": why})
