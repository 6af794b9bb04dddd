"""The kind function: a call of a Python function, the lower bound of all others."""

from typing import Self

from rpclab_servers.caller import schedule
from rpclab_servers.caller.job import Impossible, Job, Load
from rpclab_servers.caller.output import OK, Calls, Output
from rpclab_servers.caller.workload import Checker, Outcome, spec

NAME = "function"


def increase(n: int) -> int:
    return n + 1


class Session:
    def __init__(self, job: Job, output: Output):
        if job.workload.increase is None:
            raise Impossible("the kind function supports only the workload increase")
        self.checker = Checker(spec(job), output)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_) -> None:
        pass

    def check(self, load: Load) -> None:
        pass

    def run(self, load: Load, records: Calls) -> None:
        schedule.in_threads(load, records, lambda: self.call, self.checker)

    def call(self, n: int) -> Outcome:
        return OK, increase(n), NAME
