"""Makes the calls of a load when they are due: in threads, or in tasks of one thread."""

import asyncio
import itertools
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from rpclab_servers.caller.job import Load
from rpclab_servers.caller.output import Calls
from rpclab_servers.caller.workload import Got, Judge

Call = Callable[[int], Got]  # of what asks for number n

MOST = 1000  # threads; calls that find none free wait, and their times show it


def in_threads(load: Load, calls: Calls, user: Callable[[], Call], judge: Judge) -> None:
    """Make the calls in threads; user opens what one user makes its calls with."""
    sleep_until(calls.start)
    if load.closed is None:
        at_once(load, calls, user(), judge)
    elif load.closed.users == 1:
        in_turn(load, calls, itertools.count(), user(), judge, True)
    else:
        numbers = itertools.count()  # taking the next one is atomic
        users = [
            threading.Thread(target=in_turn, args=(load, calls, numbers, user(), judge, False))
            for _ in range(load.closed.users)
        ]
        for thread in users:
            thread.start()
        for thread in users:
            thread.join()


def in_turn(load: Load, calls: Calls, numbers, call: Call, judge: Judge, chained: bool) -> None:
    """Make one user's calls. Chained: each asks for what the one before answered."""
    clock, start, due_of, note = time.monotonic_ns, calls.start, load.closed.due, calls.note
    think = load.closed.think_ns
    answered, following = None, 0
    for n in numbers:
        due = due_of(n, None if answered is None else answered - start)
        if due is None:
            return
        if think:
            sleep_until(start + due)
        asked = following if chained else n
        sent = clock()
        got = call(asked)
        answered = clock()
        code, backend, following = judge(asked, *got)
        note(n, due, sent, answered, code, backend)


def at_once(load: Load, calls: Calls, call: Call, judge: Judge) -> None:
    """Make calls whatever the answers do, a thread for each that is under way."""
    clock, pace = time.monotonic_ns, load.burst or load.open

    def make(n: int, due: int) -> None:
        sent = clock()
        got, answered = call(n), clock()
        code, backend, _ = judge(n, *got)
        calls.note(n, due, sent, answered, code, backend)

    with ThreadPoolExecutor(MOST) as threads:
        for n in itertools.count():
            if (due := pace.due(n)) is None:
                return
            sleep_until(calls.start + due)
            threads.submit(make, n, due)


def sleep_until(when: int) -> None:
    while (left := when - time.monotonic_ns()) > 0:
        time.sleep(left / 1e9)


async def in_tasks(load: Load, calls: Calls, user: Callable[[], Call], judge: Judge) -> None:
    """Make the calls in tasks, whose timers are up to a millisecond late."""
    await wait_until(calls.start)
    if load.closed is None:
        await at_once_in_tasks(load, calls, user(), judge)
        return
    numbers, chained = itertools.count(), load.closed.users == 1
    await asyncio.gather(
        *(
            in_turn_in_task(load, calls, numbers, user(), judge, chained)
            for _ in range(load.closed.users)
        )
    )


async def in_turn_in_task(
    load: Load, calls: Calls, numbers, call: Call, judge: Judge, chained: bool
) -> None:
    clock, start, due_of, note = time.monotonic_ns, calls.start, load.closed.due, calls.note
    think = load.closed.think_ns
    answered, following = None, 0
    for n in numbers:
        due = due_of(n, None if answered is None else answered - start)
        if due is None:
            return
        if think:
            await wait_until(start + due)
        asked = following if chained else n
        sent = clock()
        got = await call(asked)
        answered = clock()
        code, backend, following = judge(asked, *got)
        note(n, due, sent, answered, code, backend)


async def at_once_in_tasks(load: Load, calls: Calls, call: Call, judge: Judge) -> None:
    clock, pace = time.monotonic_ns, load.burst or load.open

    async def make(n: int, due: int) -> None:
        sent = clock()
        got, answered = await call(n), clock()
        code, backend, _ = judge(n, *got)
        calls.note(n, due, sent, answered, code, backend)

    async with asyncio.TaskGroup() as tasks:
        for n in itertools.count():
            if (due := pace.due(n)) is None:
                return
            await wait_until(calls.start + due)
            tasks.create_task(make(n, due))


async def wait_until(when: int) -> None:
    while (left := when - time.monotonic_ns()) > 0:
        await asyncio.sleep(left / 1e9)
