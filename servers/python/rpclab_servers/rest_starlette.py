"""The model starlette: Starlette under uvicorn with uvloop and httptools, all calls in one
thread. A call that uses CPU time delays all others."""

import asyncio
import math
import sys
import threading
import time

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from rpclab_servers import json_messages
from rpclab_servers.backend import INVALID_ARGUMENT, Backend, Rejected, log
from rpclab_servers.json_messages import LARGEST_BODY, error_body
from rpclab_servers.server import BACKLOG, bound
from rpclab_servers.workloads import Work, Workloads

JSON = "application/json"


def serve(settings, backend: Backend) -> None:
    class Draining(uvicorn.Server):
        def handle_exit(self, _signal, _frame) -> None:
            if not backend.stopping:
                backend.stop()
                threading.Timer(settings.drain, self.leave).start()

        def leave(self) -> None:
            self.should_exit = True

    config = uvicorn.Config(
        application(settings, backend),
        loop="uvloop",
        http="httptools",
        ws="none",
        lifespan="off",
        log_config=None,
        log_level="warning",
        access_log=False,
        headers=[("rpclab-backend", backend.id)],
        backlog=BACKLOG,
        timeout_keep_alive=3600,  # the client decides how long a connection lasts
    )
    listener = bound(settings.listen)
    if settings.supervised:
        backend.execute_commands()
    log.info("%s serves", settings.id)
    Draining(config).run(sockets=[listener])
    if settings.supervised:
        backend.count()


def application(settings, backend: Backend) -> Starlette:
    workers = asyncio.Semaphore(settings.workers or sys.maxsize)

    async def health(_request: Request) -> Response:
        if backend.serving():
            return PlainTextResponse("SERVING\n")
        return PlainTextResponse("NOT_SERVING\n", 503)

    async def refuse(_request: Request, e: Rejected) -> Response:
        return Response(error_body(e.message), json_messages.status(e.code), media_type=JSON)

    async def wrong(_request: Request, e: HTTPException) -> Response:
        return Response(error_body(e.detail), e.status_code, headers=e.headers, media_type=JSON)

    async def gone(_request: Request, _e: ClientDisconnect) -> Response:
        return Response(status_code=400)  # the client is gone

    works = Workloads(json_messages, settings.id, settings.delay, settings.spread).all()
    return Starlette(
        routes=[
            *(
                Route(w.path, endpoint(w, backend, workers), methods=["POST"])
                for w in works
                if w.path
            ),
            Route("/healthz", health),
        ],
        exception_handlers={Rejected: refuse, HTTPException: wrong, ClientDisconnect: gone},
    )


def endpoint(work: Work, backend: Backend, workers: asyncio.Semaphore):
    read = json_messages.decoder(getattr(json_messages, work.request))

    async def respond(request: Request) -> Response:
        message = read(await body_of(request))
        fault = backend.begin()
        async with workers:
            reply, pause = backend.respond(work, message, fault)
            await wait(pause)
        return Response(json_messages.encode(reply), media_type=JSON)

    return respond


async def wait(pause: float) -> None:
    """Wait at least that many seconds. A timer of uvloop counts milliseconds: it rounds, and may be early."""
    end = time.monotonic() + pause
    while (left := end - time.monotonic()) > 0:
        await asyncio.sleep(math.ceil(left * 1000) / 1000)


async def body_of(request: Request) -> bytes:
    body = b""
    async for part in request.stream():
        body = body + part if body else part
        if len(body) > LARGEST_BODY:
            raise Rejected(INVALID_ARGUMENT, f"the body is larger than {LARGEST_BODY} bytes")
    return body
