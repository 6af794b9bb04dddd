"""Calls of grpc-sync as messages on streams."""

import queue
import threading
import time

import grpc

from rpclab_servers.caller import drive
from rpclab_servers.caller.channels import Calls, identity
from rpclab_servers.caller.job import Load
from rpclab_servers.caller.output import DEADLINE_EXCEEDED, OK, UNAVAILABLE
from rpclab_servers.caller.output import Calls as Noted
from rpclab_servers.caller.workload import Got, Judge

WATCH = 0.05  # seconds between two looks for answers that are overdue


def run(load: Load, noted: Noted, method, calls: Calls, judge: Judge) -> None:
    streams: list[Stream] = []

    def opened() -> Stream:
        streams.append(Stream(method, calls))
        return streams[-1]

    ended = threading.Event()
    watch = threading.Thread(target=watch_over, args=(streams, ended), daemon=True)
    watch.start()
    if calls.job.stream == "ping-pong":
        drive.in_threads(load, noted, lambda: opened().ping, judge)
    else:
        drive.sleep_until(noted.start)
        opened().pipeline(load.all_calls, noted, judge)
    ended.set()
    watch.join()
    for stream in streams:
        stream.close()


def watch_over(streams: list["Stream"], ended: threading.Event) -> None:
    """Give up streams of which an answer is overdue: one by one they have no deadline."""
    while not ended.wait(WATCH):
        for stream in list(streams):
            stream.give_up_overdue()


class Stream:
    """A stream that is open for as long as it goes well."""

    def __init__(self, method: grpc.StreamStreamMultiCallable, calls: Calls):
        self.method, self.calls = method, calls
        self.answers = None  # nothing is open
        self.waits_since = None  # for an answer; None: for none
        self.overdue = False

    def open(self, requests) -> None:
        self.overdue, self.backend = False, None
        self.answers = self.method(requests, compression=self.calls.compression)

    def close(self) -> None:
        if (answers := self.answers) is not None:  # of which the thread that reads may be done
            answers.cancel()

    def give_up_overdue(self) -> None:
        since = self.waits_since
        if since is not None and time.monotonic_ns() - since > self.calls.job.timeout_ns:
            self.overdue = True
            self.close()

    def answer(self) -> Got:
        """Wait for the next answer."""
        self.waits_since = time.monotonic_ns()
        try:
            reply = next(self.answers)
            if self.backend is None:
                self.backend = identity(self.answers.initial_metadata())
        except StopIteration:
            return self.broken(UNAVAILABLE, "the server ended the stream")
        except grpc.RpcError as e:
            if self.overdue:
                return self.broken(DEADLINE_EXCEEDED, "the answer on a stream is overdue")
            return self.broken(e.code().value[0], e.details())
        finally:
            self.waits_since = None
        return OK, self.calls.fields(reply), self.backend

    def broken(self, code: int, why: str) -> Got:
        self.answers = None
        return code, why, ""

    def ping(self, n: int) -> Got:
        """Send a message and wait for its answer."""
        if self.answers is None:
            self.requests = queue.SimpleQueue()
            self.open(iter(self.requests.get, None))
        self.requests.put(self.calls.request(n))
        got = self.answer()
        if self.answers is None:
            self.requests.put(None)  # whoever sends them waits for no more
        return got

    def pipeline(self, count: int, noted: Noted, judge: Judge) -> None:
        """Send so many messages, all due at once, whatever the answers do."""
        sent: list[int] = []

        def requests():
            for n in range(count):
                sent.append(time.monotonic_ns())
                yield self.calls.request(n)

        self.open(requests())
        for n in range(count):
            got = self.answer()
            answered = time.monotonic_ns()
            code, backend, _ = judge(n, *got)
            if self.answers is None:
                noted.note_lost(n, sent, count, answered, code)
                return
            noted.note(n, 0, sent[n], answered, code, backend)
