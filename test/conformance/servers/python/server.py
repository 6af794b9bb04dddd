"""Serves testdata/streams.proto with grpclib on the address of its argument."""

import asyncio
import sys
from collections import Counter

from grpclib.const import Cardinality, Handler
from grpclib.encoding.base import CodecBase
from grpclib.server import Server

counts = Counter()


class Bytes(CodecBase):
    """Leaves messages encoded."""

    __content_subtype__ = "proto"

    def encode(self, message, message_type):
        return message

    def decode(self, data, message_type):
        return data


def note(name):
    return bytes([0x0A, len(name)]) + name.encode()


class Streams:
    async def once(self, stream):
        counts["Once"] += 1
        await stream.send_message(await stream.recv_message())

    async def calls(self, stream):
        await stream.recv_message()
        await stream.send_message(note(" ".join(f"{name}={counts[name]}" for name in sorted(counts))))

    async def repeat(self, stream):
        counts["Repeat"] += 1
        message = await stream.recv_message()
        for _ in range(3):
            await stream.send_message(message)

    async def join(self, stream):
        counts["Join"] += 1
        n = 0
        async for _ in stream:
            n += 1
        await stream.send_message(note(str(n)))

    async def echo(self, stream):
        counts["Echo"] += 1
        async for message in stream:
            await stream.send_message(message)

    def __mapping__(self):
        return {
            f"/test.Streams/{name}": Handler(handle, cardinality, bytes, bytes)
            for name, handle, cardinality in [
                ("Once", self.once, Cardinality.UNARY_UNARY),
                ("Calls", self.calls, Cardinality.UNARY_UNARY),
                ("Repeat", self.repeat, Cardinality.UNARY_STREAM),
                ("Join", self.join, Cardinality.STREAM_UNARY),
                ("Echo", self.echo, Cardinality.STREAM_STREAM),
            ]
        }


async def main():
    host, port = sys.argv[1].split(":")
    server = Server([Streams()], codec=Bytes())
    await server.start(host, int(port))
    await server.wait_closed()


asyncio.run(main())
