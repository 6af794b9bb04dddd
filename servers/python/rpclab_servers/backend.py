"""What all models share: identity, health, injected faults and the count of calls."""

import logging
import mmap
import os
import random
import threading
import time

import msgspec

log = logging.getLogger("rpclab")

# gRPC status codes that servers answer with.
INVALID_ARGUMENT, OUT_OF_RANGE, UNAVAILABLE = 3, 11, 14

SUPERVISOR_GONE = 3  # exit status


class Rejected(Exception):
    """A failed call: a gRPC status code and a message."""

    def __init__(self, code: int, message: str):
        super().__init__(message)
        self.code, self.message = code, message


class Fault(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A fault that a supervisor injects."""

    slow: int = 0  # nanoseconds added to every response
    times: float = 0  # factor on the duration of a response
    code: int = 0  # gRPC status code that calls get at once
    share: float = 0  # probability that a call gets the code; 0: it always does
    flap: int = 0  # period in nanoseconds at which health changes, not serving first

    def fails(self) -> bool:
        """Decide, for one call, whether it gets the code."""
        return self.code != 0 and (self.share == 0 or random.random() < self.share)

    def extra_delay(self, took: float) -> float:
        """The delay to add to a response that took a time, both in seconds."""
        return self.slow / 1e9 + max(self.times - 1, 0) * took


class Command(msgspec.Struct, forbid_unknown_fields=True):
    """A command of a supervisor; one field is set."""

    fault: Fault | None = None  # replaces the injected fault
    count: bool = False  # requests the number of calls


class Backend:
    """One server under test."""

    def __init__(self, id: str):
        self.id = id
        self._fault = Fault()
        self._flapping = (0, 0)  # start and period of health changes
        self._calls = 0
        self._lock = threading.Lock()
        # Shared with forked processes: the process that gets SIGTERM may not be the one that answers.
        self._stopping = mmap.mmap(-1, 1)

    def begin(self) -> Fault:
        """Count a call, before it waits for a worker. The fault that it meets, unless that rejects it."""
        with self._lock:
            self._calls += 1
        fault = self._fault
        if fault.fails():
            raise Rejected(fault.code, f"{self.id} is in an error loop")
        return fault

    def respond(self, work, request, fault: Fault):
        """The response of a workload, and the seconds to delay it."""
        began = time.monotonic()
        reply = work.respond(request)
        pause = work.wait()
        return reply, pause + fault.extra_delay(time.monotonic() - began + pause)

    def stop(self) -> None:
        """Report NOT_SERVING from now on."""
        self._stopping[0] = 1

    @property
    def stopping(self) -> bool:
        return self._stopping[0] == 1

    def serving(self) -> bool:
        since, every = self._flapping
        flap_serves = not every or (time.monotonic_ns() - since) // every % 2 == 1
        return flap_serves and not self.stopping

    def count(self) -> None:
        """Write the number of calls started."""
        os.write(1, b"%d\n" % self._calls)

    def inject(self, fault: Fault) -> None:
        if fault.flap != self._flapping[1]:  # the same period again changes nothing
            self._flapping = (time.monotonic_ns(), fault.flap)
        self._fault = fault

    def execute_commands(self) -> None:
        """Execute the supervisor's commands in a thread. Exit when the supervisor is gone."""
        threading.Thread(target=self._execute_commands, name="commands", daemon=True).start()

    def _execute_commands(self) -> None:
        with open(0, "rb", closefd=False) as commands:
            for line in commands:
                try:
                    command = msgspec.json.decode(line, type=Command)
                except (msgspec.MsgspecError, UnicodeDecodeError) as e:
                    log.error("unknown command: %r: %s", line, e)
                    continue
                if command.fault is not None:
                    self.inject(command.fault)
                if command.count:
                    self.count()
        os._exit(SUPERVISOR_GONE)
