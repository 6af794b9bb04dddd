"""The kinds requests, requests-session and httpx: REST."""

import contextlib
import operator
from collections.abc import Callable
from typing import Self

from rpclab_servers.caller import schedule
from rpclab_servers.caller.job import Impossible, Job, Load
from rpclab_servers.caller.output import DEADLINE_EXCEEDED, OK, UNAVAILABLE, Calls, Output
from rpclab_servers.caller.workload import Checker, Outcome, spec

# The gRPC status code for an HTTP status, as in servers/CONTRACT.md; INTERNAL for others.
CODES = {400: 3, 404: 12, 405: 12, 429: 8, 503: UNAVAILABLE, 504: DEADLINE_EXCEEDED}
INTERNAL = 13


class Session:
    def __init__(self, job: Job, output: Output):
        if not job.target.startswith("http://") or not job.path.startswith("/"):
            raise Impossible(f"the kind {job.kind} needs a target http://HOST:PORT and a path")
        if job.stream or job.compress or job.service_config or job.keepalive:
            raise Impossible("only gRPC kinds support stream, compress, service_config and keepalive")
        self.job, self.url = job, job.target.rstrip("/") + job.path
        self.spec = spec(job)
        self.fields = operator.itemgetter(*self.spec.response)
        self.checker = Checker(self.spec, output)
        self.opened = contextlib.ExitStack()

    def __enter__(self) -> Self:
        library = {"httpx": with_httpx}.get(self.job.kind, with_requests)
        self.post, self.timeouts, self.errors = library(self.job, self.opened)
        return self

    def __exit__(self, *_) -> None:
        self.opened.close()

    def check(self, load: Load) -> None:
        pass

    def run(self, load: Load, records: Calls) -> None:
        schedule.in_threads(load, records, lambda: self.call, self.checker)

    def call(self, n: int) -> Outcome:
        try:
            response = self.post(self.url, json=self.spec.fields(n), timeout=self.job.timeout)
        except self.timeouts as e:
            return DEADLINE_EXCEEDED, str(e), ""
        except self.errors as e:
            return UNAVAILABLE, str(e), ""
        if response.status_code != 200:
            why = f"HTTP {response.status_code}: {response.text[:200]}"
            return CODES.get(response.status_code, INTERNAL), why, ""
        backend = response.headers.get("rpclab-backend", "")
        try:
            return OK, self.fields(response.json()), backend
        except (ValueError, LookupError, TypeError):
            return OK, response.text, ""  # never correct


def with_requests(job: Job, opened: contextlib.ExitStack) -> tuple[Callable, type, type]:
    import requests
    from requests.adapters import HTTPAdapter

    if job.kind == "requests":  # as published: a connection for each call
        return requests.post, requests.Timeout, requests.RequestException
    session = opened.enter_context(requests.Session())
    session.mount("http://", HTTPAdapter(pool_maxsize=schedule.MAX_THREADS))
    return session.post, requests.Timeout, requests.RequestException


def with_httpx(job: Job, opened: contextlib.ExitStack) -> tuple[Callable, type, type]:
    import httpx

    if job.channel == "per-call":
        return httpx.post, httpx.TimeoutException, httpx.HTTPError
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=None)
    client = opened.enter_context(httpx.Client(limits=limits))
    return client.post, httpx.TimeoutException, httpx.HTTPError
