"""What all models share: how a server is, and what it is told to be."""

import logging
import mmap
import os
import threading
import time

import msgspec

log = logging.getLogger("rpclab")

# The codes of gRPC that servers answer with.
INVALID_ARGUMENT, OUT_OF_RANGE, UNAVAILABLE = 3, 11, 14

SUPERVISOR_GONE = 3  # exit status


class Refused(Exception):
    """What a call is answered with that goes wrong: a code of gRPC, and why."""

    def __init__(self, code: int, message: str):
        super().__init__(message)
        self.code, self.message = code, message


class Ailment(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is wrong with a server, on purpose."""

    slow: int = 0  # nanoseconds added to every answer
    times: float = 0  # an answer takes as long so many times
    code: int = 0  # every call is answered with at once
    flap: int = 0  # nanoseconds after which its health turns, not serving first

    def more(self, took: float) -> float:
        """How many seconds an answer has to wait yet that took so many."""
        return self.slow / 1e9 + max(self.times - 1, 0) * took


class Order(msgspec.Struct, forbid_unknown_fields=True):
    ail: Ailment | None = None
    count: bool = False


class Backend:
    """One server under test."""

    def __init__(self, id: str):
        self.id = id
        self._ails = Ailment()
        self._flapping = (0, 0)  # since when and how often its health turns
        self._calls = 0
        self._lock = threading.Lock()
        # Shared with processes forked later: who is told to go need not be who answers.
        self._going = mmap.mmap(-1, 1)

    def answer(self, work, request):
        """The answer of a workload, and how many seconds it is to be held back."""
        with self._lock:
            self._calls += 1
        ails = self._ails
        if ails.code:
            raise Refused(ails.code, f"{self.id} is in an error loop, as it was told")
        began = time.monotonic()
        reply = work.answer(request)
        pause = work.wait()
        return reply, pause + ails.more(time.monotonic() - began + pause)

    def go(self) -> None:
        """Say from now on that it does not serve."""
        self._going[0] = 1

    @property
    def going(self) -> bool:
        return self._going[0] == 1

    def serving(self) -> bool:
        since, every = self._flapping
        turned = not every or (time.monotonic_ns() - since) // every % 2 == 1
        return turned and not self.going

    def count(self) -> None:
        """Write the number of calls begun."""
        os.write(1, b"%d\n" % self._calls)

    def suffer(self, ails: Ailment) -> None:
        if ails.flap != self._flapping[1]:  # one that flaps so already goes on as it does
            self._flapping = (time.monotonic_ns(), ails.flap)
        self._ails = ails

    def obey(self) -> None:
        """Do what the supervisor writes, in a thread of its own, and end with it."""
        threading.Thread(target=self._obey, name="orders", daemon=True).start()

    def _obey(self) -> None:
        with open(0, "rb", closefd=False) as orders:
            for line in orders:
                try:
                    order = msgspec.json.decode(line, type=Order)
                except (msgspec.MsgspecError, UnicodeDecodeError) as e:
                    log.error("an order that no server knows: %r: %s", line, e)
                    continue
                if order.ail is not None:
                    self.suffer(order.ail)
                if order.count:
                    self.count()
        os._exit(SUPERVISOR_GONE)
