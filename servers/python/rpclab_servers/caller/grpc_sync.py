"""The kind grpc-sync: grpcio's synchronous calls."""

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Self

import grpc

from rpclab_servers.caller import schedule, streams
from rpclab_servers.caller.channels import Calls, identity
from rpclab_servers.caller.job import Job, Load
from rpclab_servers.caller.output import OK, Output
from rpclab_servers.caller.output import Calls as Records
from rpclab_servers.caller.workload import Checker, Outcome


class Session:
    def __init__(self, job: Job, output: Output):
        self.job, self.calls = job, Calls(job)
        self.checker = Checker(self.calls.spec, output)
        self.check = self.calls.check

    def __enter__(self) -> Self:
        self.closing = ThreadPoolExecutor(1)
        self.channel = self.dial()
        self.unary = self.channel.unary_unary(self.calls.method, **self.calls.codec)
        return self

    def __exit__(self, *_) -> None:
        self.closing.shutdown()
        self.channel.close()

    def dial(self) -> grpc.Channel:
        return grpc.insecure_channel(self.job.target, self.calls.options())

    def run(self, load: Load, records: Records) -> None:
        if self.job.stream:
            method = self.channel.stream_stream(self.calls.method, **self.calls.codec)
            streams.run(load, records, method, self.calls, self.checker)
        elif self.job.channel == "per-call":
            schedule.in_threads(load, records, lambda: self.call_alone, self.checker)
            self.closing.submit(lambda: None).result()  # closing counts as CPU time of this load
        else:
            schedule.in_threads(load, records, lambda: self.call, self.checker)

    def call(self, n: int) -> Outcome:
        return self.call_by(self.unary, n)

    def call_alone(self, n: int) -> Outcome:
        channel = self.dial()
        try:
            return self.call_by(channel.unary_unary(self.calls.method, **self.calls.codec), n)
        finally:
            self.closing.submit(channel.close)  # which is not part of the latency

    def call_by(self, unary: grpc.UnaryUnaryMultiCallable, n: int) -> Outcome:
        calls, began = self.calls, time.monotonic()
        try:
            reply, rpc = unary.with_call(
                calls.request(n), timeout=calls.timeout, compression=calls.compression
            )
        except grpc.RpcError as e:
            return calls.failed(e, began)
        return OK, calls.fields(reply), identity(rpc.trailing_metadata())
