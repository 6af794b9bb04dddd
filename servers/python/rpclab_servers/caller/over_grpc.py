"""The kind grpc-sync: grpcio's synchronous calls."""

import time
from typing import Self

import grpc

from rpclab_servers.caller import drive, streams
from rpclab_servers.caller.channels import Calls, identity
from rpclab_servers.caller.job import Job, Load
from rpclab_servers.caller.output import OK, Output
from rpclab_servers.caller.output import Calls as Noted
from rpclab_servers.caller.workload import Got, Judge


class Session:
    def __init__(self, job: Job, output: Output):
        self.job, self.calls = job, Calls(job)
        self.judge = Judge(self.calls.asked, output)
        self.check = self.calls.check

    def __enter__(self) -> Self:
        self.channel = self.dial()
        self.unary = self.channel.unary_unary(self.calls.method, **self.calls.codec)
        return self

    def __exit__(self, *_) -> None:
        self.channel.close()

    def dial(self) -> grpc.Channel:
        return grpc.insecure_channel(self.job.target, self.calls.options())

    def run(self, load: Load, noted: Noted) -> None:
        if self.job.stream:
            method = self.channel.stream_stream(self.calls.method, **self.calls.codec)
            streams.run(load, noted, method, self.calls, self.judge)
        elif self.job.channel == "per-call":
            drive.in_threads(load, noted, lambda: self.call_alone, self.judge)
        else:
            drive.in_threads(load, noted, lambda: self.call, self.judge)

    def call(self, n: int) -> Got:
        return self.call_by(self.unary, n)

    def call_alone(self, n: int) -> Got:
        with self.dial() as channel:
            return self.call_by(channel.unary_unary(self.calls.method, **self.calls.codec), n)

    def call_by(self, unary: grpc.UnaryUnaryMultiCallable, n: int) -> Got:
        calls, began = self.calls, time.monotonic()
        try:
            reply, rpc = unary.with_call(
                calls.request(n), timeout=calls.timeout, compression=calls.compression
            )
        except grpc.RpcError as e:
            return calls.failed(e, began)
        return OK, calls.fields(reply), identity(rpc.trailing_metadata())
