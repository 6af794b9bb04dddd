"""The kind grpc-aio: grpcio's asynchronous calls, all in one thread."""

import asyncio
import time
from typing import Self

import grpc

from rpclab_servers.caller import drive
from rpclab_servers.caller.channels import Calls, identity
from rpclab_servers.caller.job import Job, Load
from rpclab_servers.caller.output import DEADLINE_EXCEEDED, OK, UNAVAILABLE, Output
from rpclab_servers.caller.output import Calls as Noted
from rpclab_servers.caller.workload import Got, Judge


class Session:
    def __init__(self, job: Job, output: Output):
        self.job, self.calls = job, Calls(job)
        self.judge = Judge(self.calls.asked, output)
        self.check = self.calls.check
        self.runner = asyncio.Runner()

    def __enter__(self) -> Self:
        self.runner.run(self.open())
        return self

    def __exit__(self, *_) -> None:
        self.runner.run(self.channel.close())
        self.runner.close()

    async def open(self) -> None:
        self.channel = self.dial()
        self.unary = self.channel.unary_unary(self.calls.method, **self.calls.codec)

    def dial(self) -> grpc.aio.Channel:
        return grpc.aio.insecure_channel(self.job.target, self.calls.options())

    def run(self, load: Load, noted: Noted) -> None:
        self.runner.run(self.make(load, noted))

    async def make(self, load: Load, noted: Noted) -> None:
        if self.job.stream:
            await self.make_on_streams(load, noted)
        elif self.job.channel == "per-call":
            await drive.in_tasks(load, noted, lambda: self.call_alone, self.judge)
        else:
            await drive.in_tasks(load, noted, lambda: self.call, self.judge)

    async def make_on_streams(self, load: Load, noted: Noted) -> None:
        method = self.channel.stream_stream(self.calls.method, **self.calls.codec)
        streams: list[Stream] = []

        def opened() -> Stream:
            streams.append(Stream(method, self.calls))
            return streams[-1]

        if self.job.stream == "ping-pong":
            await drive.in_tasks(load, noted, lambda: opened().ping, self.judge)
        else:
            await drive.wait_until(noted.start)
            await opened().pipeline(load.all_calls, noted, self.judge)
        for stream in streams:
            stream.close()

    async def call(self, n: int) -> Got:
        return await self.call_by(self.unary, n)

    async def call_alone(self, n: int) -> Got:
        async with self.dial() as channel:
            unary = channel.unary_unary(self.calls.method, **self.calls.codec)
            return await self.call_by(unary, n)

    async def call_by(self, unary: grpc.aio.UnaryUnaryMultiCallable, n: int) -> Got:
        calls, began = self.calls, time.monotonic()
        rpc = unary(calls.request(n), timeout=calls.timeout, compression=calls.compression)
        try:
            reply = await rpc
        except grpc.RpcError as e:
            return calls.failed(e, began)
        return OK, calls.fields(reply), identity(await rpc.trailing_metadata())


class Stream:
    """A stream that is open for as long as it goes well."""

    def __init__(self, method: grpc.aio.StreamStreamMultiCallable, calls: Calls):
        self.method, self.calls = method, calls
        self.rpc = None  # nothing is open

    def open(self, requests) -> None:
        self.rpc = self.method(requests, compression=self.calls.compression)
        self.backend = None

    async def answer(self) -> Got:
        """Wait for the next answer."""
        try:
            async with asyncio.timeout(self.calls.timeout):
                reply = await self.rpc.read()
                if reply is grpc.aio.EOF:
                    return self.broken(UNAVAILABLE, "the server ended the stream")
                if self.backend is None:
                    self.backend = identity(await self.rpc.initial_metadata())
        except TimeoutError:
            return self.broken(DEADLINE_EXCEEDED, "the answer on a stream is overdue")
        except grpc.RpcError as e:
            return self.broken(e.code().value[0], e.details())
        return OK, self.calls.fields(reply), self.backend

    def broken(self, code: int, why: str) -> Got:
        self.close()
        return code, why, ""

    def close(self) -> None:
        if self.rpc is not None:
            self.rpc.cancel()
            self.rpc = None

    async def ping(self, n: int) -> Got:
        """Send a message and wait for its answer."""
        if self.rpc is None:
            # Not by write: where the stream has ended it hides why.
            self.requests = asyncio.Queue()
            self.open(sent_from(self.requests))
        self.requests.put_nowait(self.calls.request(n))
        return await self.answer()

    async def pipeline(self, count: int, noted: Noted, judge: Judge) -> None:
        """Send so many messages, all due at once, whatever the answers do."""
        sent: list[int] = []

        async def requests():
            for n in range(count):
                sent.append(time.monotonic_ns())
                yield self.calls.request(n)

        self.open(requests())
        for n in range(count):
            got = await self.answer()
            answered = time.monotonic_ns()
            code, backend, _ = judge(n, *got)
            if self.rpc is None:
                noted.note_lost(n, sent, count, answered, code)
                return
            noted.note(n, 0, sent[n], answered, code, backend)


async def sent_from(requests: asyncio.Queue):
    while True:
        yield await requests.get()
