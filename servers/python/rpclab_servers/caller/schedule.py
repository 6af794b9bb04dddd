"""Makes the calls of a load when they are due: in threads, or in tasks of one thread."""

import asyncio
import itertools
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from rpclab_servers.caller.job import Load
from rpclab_servers.caller.output import Calls
from rpclab_servers.caller.workload import Checker, Outcome

Call = Callable[[int], Outcome]  # makes call number n

MAX_THREADS = 1000  # a call that waits for a free thread has the wait in its latency


def in_threads(load: Load, calls: Calls, user: Callable[[], Call], checker: Checker) -> None:
    """Make the calls in threads; user returns the call function of one user."""
    sleep_until(calls.start)
    if load.closed is None:
        on_schedule(load, calls, user(), checker)
    elif load.closed.users == 1:
        one_user(load, calls, 0, itertools.count(), user(), checker, True)
    else:
        numbers = itertools.count()  # taking the next one is atomic
        users = [
            threading.Thread(
                target=one_user, args=(load, calls, i, numbers, user(), checker, False)
            )
            for i in range(load.closed.users)
        ]
        for thread in users:
            thread.start()
        for thread in users:
            thread.join()


def one_user(
    load: Load, calls: Calls, user: int, numbers, call: Call, checker: Checker, chained: bool
) -> None:
    """Make one user's calls. Chained: each sends the response of the call before."""
    clock, start, due_of, record = time.monotonic_ns, calls.start, load.closed.due, calls.record
    scheduled = load.closed.think_ns or load.closed.ramp_ns
    answered, following = None, 0
    for n in numbers:
        due = due_of(n, user, None if answered is None else answered - start)
        if due is None:
            return
        if scheduled:
            sleep_until(start + due)
        number = following if chained else n
        sent = clock()
        got = call(number)
        answered = clock()
        code, backend, following = checker(number, *got)
        record(n, due, sent, answered, code, backend)


def on_schedule(load: Load, calls: Calls, call: Call, checker: Checker) -> None:
    """Make calls on schedule, a thread for each call in flight."""
    clock, pace = time.monotonic_ns, load.burst or load.open

    def make(n: int, due: int) -> None:
        sent = clock()
        got, answered = call(n), clock()
        code, backend, _ = checker(n, *got)
        calls.record(n, due, sent, answered, code, backend)

    with ThreadPoolExecutor(MAX_THREADS) as threads:
        for n in itertools.count():
            if (due := pace.due(n)) is None:
                return
            sleep_until(calls.start + due)
            threads.submit(make, n, due)


def sleep_until(when: int) -> None:
    while (left := when - time.monotonic_ns()) > 0:
        time.sleep(left / 1e9)


async def in_tasks(load: Load, calls: Calls, user: Callable[[], Call], checker: Checker) -> None:
    """Make the calls in tasks, whose timers are up to a millisecond late."""
    await wait_until(calls.start)
    if load.closed is None:
        await on_schedule_in_tasks(load, calls, user(), checker)
        return
    numbers, chained = itertools.count(), load.closed.users == 1
    await asyncio.gather(
        *(
            one_user_in_task(load, calls, i, numbers, user(), checker, chained)
            for i in range(load.closed.users)
        )
    )


async def one_user_in_task(
    load: Load, calls: Calls, user: int, numbers, call: Call, checker: Checker, chained: bool
) -> None:
    clock, start, due_of, record = time.monotonic_ns, calls.start, load.closed.due, calls.record
    scheduled = load.closed.think_ns or load.closed.ramp_ns
    answered, following = None, 0
    for n in numbers:
        due = due_of(n, user, None if answered is None else answered - start)
        if due is None:
            return
        if scheduled:
            await wait_until(start + due)
        number = following if chained else n
        sent = clock()
        got = await call(number)
        answered = clock()
        code, backend, following = checker(number, *got)
        record(n, due, sent, answered, code, backend)


async def on_schedule_in_tasks(load: Load, calls: Calls, call: Call, checker: Checker) -> None:
    clock, pace = time.monotonic_ns, load.burst or load.open

    async def make(n: int, due: int) -> None:
        sent = clock()
        got, answered = await call(n), clock()
        code, backend, _ = checker(n, *got)
        calls.record(n, due, sent, answered, code, backend)

    async with asyncio.TaskGroup() as tasks:
        for n in itertools.count():
            if (due := pace.due(n)) is None:
                return
            await wait_until(calls.start + due)
            tasks.create_task(make(n, due))


async def wait_until(when: int) -> None:
    while (left := when - time.monotonic_ns()) > 0:
        await asyncio.sleep(left / 1e9)
