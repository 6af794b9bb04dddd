"""The kind grpc-aio: grpcio's asynchronous calls, all in one thread."""

import asyncio
import time
from typing import Self

import grpc

from rpclab_servers.caller import schedule
from rpclab_servers.caller.channels import Calls, identity
from rpclab_servers.caller.job import Job, Load
from rpclab_servers.caller.output import DEADLINE_EXCEEDED, OK, UNAVAILABLE, Output
from rpclab_servers.caller.output import Calls as Records
from rpclab_servers.caller.workload import Checker, Outcome


class Session:
    def __init__(self, job: Job, output: Output):
        self.job, self.calls = job, Calls(job)
        self.checker = Checker(self.calls.spec, output)
        self.check = self.calls.check
        self.runner = asyncio.Runner()

    def __enter__(self) -> Self:
        self.runner.run(self.open())
        return self

    def __exit__(self, *_) -> None:
        self.runner.run(self.close())
        self.runner.close()

    async def close(self) -> None:
        await asyncio.gather(*self.closing, self.channel.close())

    async def open(self) -> None:
        self.closing: set[asyncio.Task] = set()
        self.channel = self.dial()
        self.unary = self.channel.unary_unary(self.calls.method, **self.calls.codec)

    def dial(self) -> grpc.aio.Channel:
        return grpc.aio.insecure_channel(self.job.target, self.calls.options())

    def run(self, load: Load, records: Records) -> None:
        self.runner.run(self.make(load, records))

    async def make(self, load: Load, records: Records) -> None:
        if self.job.stream:
            await self.make_on_streams(load, records)
        elif self.job.channel == "per-call":
            await schedule.in_tasks(load, records, lambda: self.call_alone, self.checker)
            await asyncio.gather(*self.closing)  # closing counts as CPU time of this load
        else:
            await schedule.in_tasks(load, records, lambda: self.call, self.checker)

    async def make_on_streams(self, load: Load, records: Records) -> None:
        method = self.channel.stream_stream(self.calls.method, **self.calls.codec)
        streams: list[Stream] = []

        def opened() -> Stream:
            streams.append(Stream(method, self.calls))
            return streams[-1]

        if self.job.stream == "ping-pong":
            await schedule.in_tasks(load, records, lambda: opened().ping, self.checker)
        else:
            await schedule.wait_until(records.start)
            await opened().pipeline(load.all_calls, records, self.checker)
        for stream in streams:
            stream.close()

    async def call(self, n: int) -> Outcome:
        return await self.call_by(self.unary, n)

    async def call_alone(self, n: int) -> Outcome:
        channel = self.dial()
        try:
            unary = channel.unary_unary(self.calls.method, **self.calls.codec)
            return await self.call_by(unary, n)
        finally:
            task = asyncio.create_task(channel.close())  # which is not part of the latency
            self.closing.add(task)
            task.add_done_callback(self.closing.discard)

    async def call_by(self, unary: grpc.aio.UnaryUnaryMultiCallable, n: int) -> Outcome:
        calls, began = self.calls, time.monotonic()
        rpc = unary(calls.request(n), timeout=calls.timeout, compression=calls.compression)
        try:
            reply = await rpc
        except grpc.RpcError as e:
            return calls.failed(e, began)
        return OK, calls.fields(reply), identity(await rpc.trailing_metadata())


class Stream:
    """A stream that is reopened after an error."""

    def __init__(self, method: grpc.aio.StreamStreamMultiCallable, calls: Calls):
        self.method, self.calls = method, calls
        self.rpc = None  # None: not open

    def open(self, requests) -> None:
        self.rpc = self.method(requests, compression=self.calls.compression)
        self.backend = None

    async def response(self) -> Outcome:
        """Wait for the next response."""
        try:
            async with asyncio.timeout(self.calls.timeout):
                reply = await self.rpc.read()
                if reply is grpc.aio.EOF:
                    return self.broken(UNAVAILABLE, "the server ended the stream")
                if self.backend is None:
                    self.backend = identity(await self.rpc.initial_metadata())
        except TimeoutError:
            return self.broken(DEADLINE_EXCEEDED, "the response on a stream is overdue")
        except grpc.RpcError as e:
            return self.broken(e.code().value[0], e.details())
        return OK, self.calls.fields(reply), self.backend

    def broken(self, code: int, why: str) -> Outcome:
        self.close()
        return code, why, ""

    def close(self) -> None:
        if self.rpc is not None:
            self.rpc.cancel()
            self.rpc = None

    async def ping(self, n: int) -> Outcome:
        """Send a message and wait for its response."""
        if self.rpc is None:
            # With write() instead, the error of a stream would be lost.
            self.requests = asyncio.Queue()
            self.open(sent_from(self.requests))
        self.requests.put_nowait(self.calls.request(n))
        return await self.response()

    async def pipeline(self, count: int, records: Records, checker: Checker) -> None:
        """Send all messages at once, without waiting for responses."""
        sent: list[int] = []

        async def requests():
            for n in range(count):
                sent.append(time.monotonic_ns())
                yield self.calls.request(n)

        self.open(requests())
        for n in range(count):
            got = await self.response()
            answered = time.monotonic_ns()
            code, backend, _ = checker(n, *got)
            if self.rpc is None:
                records.record_lost(n, sent, count, answered, code)
                return
            records.record(n, 0, sent[n], answered, code, backend)


async def sent_from(requests: asyncio.Queue):
    while True:
        yield await requests.get()
