"""The model starlette: Starlette under uvicorn with uvloop and httptools, all calls in one
thread. A call that takes processor time holds up all others."""

import asyncio
import sys
import threading

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from rpclab_servers import json_messages
from rpclab_servers.backend import INVALID_ARGUMENT, Backend, Refused, log
from rpclab_servers.json_messages import LARGEST_BODY, refusal
from rpclab_servers.server import bound
from rpclab_servers.workloads import Work, Workloads

JSON = "application/json"


def serve(told, backend: Backend) -> None:
    class Draining(uvicorn.Server):
        def handle_exit(self, _signal, _frame) -> None:
            if not backend.going:
                backend.go()
                threading.Timer(told.drain, self.leave).start()

        def leave(self) -> None:
            self.should_exit = True

    config = uvicorn.Config(
        application(told, backend),
        loop="uvloop",
        http="httptools",
        ws="none",
        lifespan="off",
        log_config=None,
        log_level="warning",
        access_log=False,
        headers=[("rpclab-backend", backend.id)],
        timeout_keep_alive=3600,  # a connection lasts as long as its client wants
    )
    listener = bound(told.listen)
    if told.supervised:
        backend.obey()
    log.info("%s serves", told.id)
    Draining(config).run(sockets=[listener])
    if told.supervised:
        backend.count()


def application(told, backend: Backend) -> Starlette:
    room = asyncio.Semaphore(told.workers or sys.maxsize)

    async def health(_request: Request) -> Response:
        if backend.serving():
            return PlainTextResponse("SERVING\n")
        return PlainTextResponse("NOT_SERVING\n", 503)

    async def refuse(_request: Request, e: Refused) -> Response:
        return Response(refusal(e.message), json_messages.status(e.code), media_type=JSON)

    async def wrong(_request: Request, e: HTTPException) -> Response:
        return Response(refusal(e.detail), e.status_code, headers=e.headers, media_type=JSON)

    async def gone(_request: Request, _e: ClientDisconnect) -> Response:
        return Response(status_code=400)  # which nobody hears

    works = Workloads(json_messages, told.id, told.delay, told.spread).all()
    return Starlette(
        routes=[
            *(Route(w.path, endpoint(w, backend, room), methods=["POST"]) for w in works if w.path),
            Route("/healthz", health),
        ],
        exception_handlers={Refused: refuse, HTTPException: wrong, ClientDisconnect: gone},
    )


def endpoint(work: Work, backend: Backend, room: asyncio.Semaphore):
    read = json_messages.decoder(getattr(json_messages, work.request))

    async def answer(request: Request) -> Response:
        body = await body_of(request)
        async with room:
            reply, pause = backend.answer(work, read(body))
            if pause:
                await asyncio.sleep(pause)
        return Response(json_messages.encode(reply), media_type=JSON)

    return answer


async def body_of(request: Request) -> bytes:
    body = b""
    async for part in request.stream():
        body = body + part if body else part
        if len(body) > LARGEST_BODY:
            raise Refused(INVALID_ARGUMENT, f"the body is larger than {LARGEST_BODY} bytes")
    return body
