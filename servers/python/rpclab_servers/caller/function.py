"""The kind function: a call of a Python function, the floor below all others."""

from typing import Self

from rpclab_servers.caller import drive
from rpclab_servers.caller.job import Impossible, Job, Load
from rpclab_servers.caller.output import OK, Calls, Output
from rpclab_servers.caller.workload import Got, Judge, asked

NAME = "function"


def increase(n: int) -> int:
    return n + 1


class Session:
    def __init__(self, job: Job, output: Output):
        if job.workload.increase is None:
            raise Impossible("the kind function makes calls of the workload increase")
        self.judge = Judge(asked(job), output)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_) -> None:
        pass

    def check(self, load: Load) -> None:
        pass

    def run(self, load: Load, noted: Calls) -> None:
        drive.in_threads(load, noted, lambda: self.call, self.judge)

    def call(self, n: int) -> Got:
        return OK, increase(n), NAME
