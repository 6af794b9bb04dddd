"""The calls of grpc-sync as messages on streams."""

import queue
import threading
import time

import grpc

from rpclab_servers.caller import schedule
from rpclab_servers.caller.channels import Calls, identity
from rpclab_servers.caller.job import Load
from rpclab_servers.caller.output import DEADLINE_EXCEEDED, OK, UNAVAILABLE
from rpclab_servers.caller.output import Calls as Records
from rpclab_servers.caller.workload import Checker, Outcome

WATCH_INTERVAL = 0.05  # seconds between checks for overdue responses


def run(load: Load, records: Records, method, calls: Calls, checker: Checker) -> None:
    streams: list[Stream] = []

    def opened() -> Stream:
        streams.append(Stream(method, calls))
        return streams[-1]

    ended = threading.Event()
    watch = threading.Thread(target=watch_over, args=(streams, ended), daemon=True)
    watch.start()
    if calls.job.stream == "ping-pong":
        schedule.in_threads(load, records, lambda: opened().ping, checker)
    else:
        schedule.sleep_until(records.start)
        opened().pipeline(load.all_calls, records, checker)
    ended.set()
    watch.join()
    for stream in streams:
        stream.close()


def watch_over(streams: list["Stream"], ended: threading.Event) -> None:
    """Cancel streams with an overdue response: a message on a stream has no deadline."""
    while not ended.wait(WATCH_INTERVAL):
        for stream in list(streams):
            stream.cancel_overdue()


class Stream:
    """A stream that is reopened after an error."""

    def __init__(self, method: grpc.StreamStreamMultiCallable, calls: Calls):
        self.method, self.calls = method, calls
        self.responses = None  # None: not open
        self.requests = None  # what ping sends; None: nothing yet
        self.waits_since = None  # monotonic ns; None: not waiting
        self.overdue = False

    def open(self, requests) -> None:
        self.overdue, self.backend = False, None
        self.responses = self.method(requests, compression=self.calls.compression)

    def close(self) -> None:
        self.cancel()
        if self.requests is not None:
            self.requests.put(None)  # ends the sending thread, which waits for messages

    def cancel(self) -> None:
        if (responses := self.responses) is not None:  # the reading thread may reset it
            responses.cancel()

    def cancel_overdue(self) -> None:
        since = self.waits_since
        if since is not None and time.monotonic_ns() - since > self.calls.job.timeout_ns:
            self.overdue = True
            self.cancel()

    def response(self) -> Outcome:
        """Wait for the next response."""
        self.waits_since = time.monotonic_ns()
        try:
            reply = next(self.responses)
            if self.backend is None:
                self.backend = identity(self.responses.initial_metadata())
        except StopIteration:
            return self.broken(UNAVAILABLE, "the server ended the stream")
        except grpc.RpcError as e:
            if self.overdue:
                return self.broken(DEADLINE_EXCEEDED, "the response on a stream is overdue")
            return self.broken(e.code().value[0], e.details())
        finally:
            self.waits_since = None
        return OK, self.calls.fields(reply), self.backend

    def broken(self, code: int, why: str) -> Outcome:
        self.responses = None
        return code, why, ""

    def ping(self, n: int) -> Outcome:
        """Send a message and wait for its response."""
        if self.responses is None:
            self.requests = queue.SimpleQueue()
            self.open(iter(self.requests.get, None))
        self.requests.put(self.calls.request(n))
        got = self.response()
        if self.responses is None:
            self.requests.put(None)  # ends the sending thread
        return got

    def pipeline(self, count: int, records: Records, checker: Checker) -> None:
        """Send all messages at once, without waiting for responses."""
        sent: list[int] = []

        def requests():
            for n in range(count):
                sent.append(time.monotonic_ns())
                yield self.calls.request(n)

        self.open(requests())
        for n in range(count):
            got = self.response()
            answered = time.monotonic_ns()
            code, backend, _ = checker(n, *got)
            if self.responses is None:
                records.record_lost(n, sent, count, answered, code)
                return
            records.record(n, 0, sent[n], answered, code, backend)
