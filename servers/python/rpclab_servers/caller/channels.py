"""What both gRPC callers share: channel options, messages and the identity of the backend."""

import operator
import time

import grpc

from rpclab_servers.caller.job import Impossible, Job, Load
from rpclab_servers.caller.output import CANCELLED, DEADLINE_EXCEEDED
from rpclab_servers.caller.workload import Outcome, spec
from rpclab_servers.grpc_services import MESSAGES


class Calls:
    """The calls of a job as protobuf messages."""

    def __init__(self, job: Job):
        if not job.target or not job.method:
            raise Impossible(f"the kind {job.kind} needs a target and a method")
        if job.stream and job.channel == "per-call":
            raise Impossible("a stream needs the channel shared: per-call opens a channel per call")
        self.job, self.spec = job, spec(job)
        self.method, self.timeout = job.method, job.timeout
        self.compression = grpc.Compression.Gzip if job.compress else None
        self.fields = operator.attrgetter(*self.spec.response)
        kind = getattr(MESSAGES, self.spec.request_name)
        self.codec = {
            "request_serializer": kind.SerializeToString,
            "response_deserializer": getattr(MESSAGES, self.spec.reply_name).FromString,
            "_registered_method": True,  # as in generated stubs
        }
        if self.spec.constant:
            request = kind(**self.spec.fields(0))
            self.request = lambda _: request
        else:
            self.request = lambda n: kind(**self.spec.fields(n))

    def options(self) -> list[tuple[str, str | int]]:
        """The options of a channel."""
        options: list[tuple[str, str | int]] = [("grpc.enable_http_proxy", 0)]
        if self.job.service_config:
            options.append(("grpc.service_config", self.job.service_config))
        if keepalive := self.job.keepalive:
            options += [
                ("grpc.keepalive_time_ms", keepalive.time_ns // 1_000_000),
                ("grpc.keepalive_timeout_ms", keepalive.timeout_ns // 1_000_000),
                # gRPC 1.85 waits for a PING's response as long as this, whatever keepalive_timeout says.
                ("grpc.http2.ping_timeout_ms", keepalive.timeout_ns // 1_000_000),
                ("grpc.keepalive_permit_without_calls", int(keepalive.without_calls)),
                ("grpc.http2.max_pings_without_data", 0),  # no limit, as in other languages
            ]
        if self.job.channel == "per-call":
            # Otherwise channels of a process share connections.
            options.append(("grpc.use_local_subchannel_pool", 1))
        return options

    def failed(self, e: grpc.RpcError, began: float) -> Outcome:
        """The result of a call that raised this error."""
        code = e.code().value[0]
        # The server's cancellation at the deadline may arrive before the library's own.
        if code == CANCELLED and time.monotonic() - began > 0.99 * self.timeout:
            code = DEADLINE_EXCEEDED
        return code, e.details(), ""

    def check(self, load: Load) -> None:
        if self.job.stream == "ping-pong" and not load.closed:
            raise Impossible("the stream ping-pong needs a closed load")
        if self.job.stream == "pipelined" and not load.all_calls:
            raise Impossible("the stream pipelined needs a load with a number of calls")


def identity(metadata) -> str:
    """The backend that answered; empty: unknown."""
    for key, value in metadata or ():
        if key == "rpclab-backend":
            return value
    return ""
