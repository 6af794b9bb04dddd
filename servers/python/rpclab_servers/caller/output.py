"""The frames that a caller writes to standard output."""

import collections
import json
import os
import struct
import threading
import time
from typing import Self

HEAD = struct.Struct(">cI")
CALL = struct.Struct("<QqqqBH5x")

# gRPC status codes, and WRONG.
OK, CANCELLED, DEADLINE_EXCEEDED, UNAVAILABLE, WRONG = 0, 1, 4, 14, 255

NOBODY = 0xFFFF  # no backend answered
FRAME_INTERVAL = 0.05  # seconds between frames of calls
MAX_FRAME_CALLS = 10_000


class Output:
    """Writes frames to standard output. Any thread may use it."""

    def __init__(self):
        self._file = os.fdopen(os.dup(1), "wb")
        os.dup2(2, 1)  # libraries may print to standard output
        self._lock = threading.Lock()
        self._backends: dict[str, int] = {}
        self._sampled: set[int] = set()

    def frame(self, kind: bytes, payload: bytes = b"") -> None:
        with self._lock:
            self._write(kind, payload)

    def _write(self, kind: bytes, payload: bytes) -> None:
        try:
            self._file.write(HEAD.pack(kind, len(payload)) + payload)
            self._file.flush()
        except BrokenPipeError:
            os._exit(1)  # the reader is gone

    def backend(self, id: str) -> int:
        """The number of a backend. Writes a frame for a new one."""
        number = self._backends.get(id)
        if number is None:
            with self._lock:
                if id not in self._backends:
                    self._write(b"B", id.encode())
                    self._backends[id] = len(self._backends)
                number = self._backends[id]
        return number

    def sample(self, code: int, message: str | None) -> None:
        """Write the first message of each code in a load."""
        with self._lock:
            if code not in self._sampled:
                self._sampled.add(code)
                sample = {"code": code, "message": message or "no message"}
                self._write(b"S", json.dumps(sample).encode())

    def forget_samples(self) -> None:
        self._sampled.clear()


class Calls:
    """The calls of one load: recorded in memory, written by another thread."""

    def __init__(self, output: Output, at_ns: int):
        self.output = output
        self.to_unix = time.time_ns() - time.monotonic_ns()
        self.start = at_ns - self.to_unix if at_ns else time.monotonic_ns()
        self.records: collections.deque[bytes] = collections.deque()
        self._ended = threading.Event()
        self._writer = threading.Thread(target=self._write_often, name="calls", daemon=True)
        self._writing = 0  # nanoseconds of CPU time

    def record(self, n: int, due: int, sent: int, answered: int, code: int, backend: int) -> None:
        """Record a call. Times are of the monotonic clock, due is relative to the start."""
        unix = self.to_unix
        self.records.append(
            CALL.pack(n, unix + self.start + due, unix + sent, unix + answered, code, backend)
        )

    def record_lost(self, first: int, sent: list[int], calls: int, ended: int, code: int) -> None:
        """Record the calls of a stream that ended, from number first on. All were due at the start.
        A call without a time in sent was not sent. The library may take further ones after the end."""
        for n in range(first, calls):
            sent_at = min(sent[n], ended) if n < len(sent) else ended
            self.record(n, 0, sent_at, ended, code, NOBODY)

    def __enter__(self) -> Self:
        self.output.forget_samples()
        self._writer.start()
        self._spent = time.process_time_ns()
        return self

    def __exit__(self, failed, *_) -> None:
        """Write the end of the load with its CPU time, without the CPU time of writing."""
        if failed:
            return
        spent = time.process_time_ns() - self._spent
        self._ended.set()
        self._writer.join()
        self._write()
        self.output.frame(b"E", json.dumps({"cpu_ns": max(spent - self._writing, 0)}).encode())

    def _write_often(self) -> None:
        began = time.thread_time_ns()
        while not self._ended.wait(FRAME_INTERVAL):
            self._write()
            self._writing = time.thread_time_ns() - began

    def _write(self) -> None:
        while waiting := min(len(self.records), MAX_FRAME_CALLS):
            pop = self.records.popleft
            self.output.frame(b"C", b"".join([pop() for _ in range(waiting)]))
