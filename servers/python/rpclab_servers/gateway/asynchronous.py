"""The model async: Starlette under uvicorn with uvloop and httptools, and grpc.aio. All requests
are answered in one thread, each waiting for its calls one by one, as published."""

import socket

import grpc
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request as Asked
from starlette.responses import Response
from starlette.routing import Route

from rpclab_servers.gateway import program
from rpclab_servers.gateway.answer import Answer, Failure, failed
from rpclab_servers.gateway.calls import CALL_TIMEOUT, MOST_AT_ONCE, Request, Study


def serve(told, study: Study, listener: socket.socket) -> None:
    class Program(uvicorn.Server):
        async def startup(self, sockets=None) -> None:
            await super().startup(sockets)
            program.ready(told, listening)

    listening = program.name_of(listener)
    config = uvicorn.Config(
        Gateway(told, study).application(),
        loop="uvloop",
        http="httptools",
        ws="none",
        lifespan="off",
        log_config=None,
        log_level="warning",
        access_log=False,
        timeout_keep_alive=3600,  # a connection lasts as long as its client wants
    )
    Program(config).run(sockets=[listener])


class Gateway:
    def __init__(self, told, study: Study):
        self.told, self.study = told, study
        self.options = program.options(told)
        self.shared: grpc.aio.Channel | None = None
        self.under_way = 0

    def application(self) -> Starlette:
        return Starlette(routes=[Route("/{path:path}", self)])

    def channel(self) -> grpc.aio.Channel:
        return grpc.aio.insecure_channel(self.told.target, self.options)

    async def __call__(self, scope, receive, send) -> None:
        asked = Asked(scope)
        a = self.study.answer(asked.method, asked.url.path, scope["query_string"].decode("latin-1"))
        if isinstance(a, Request):
            a = await self.calls(a)
        await Response(a.body, a.status, a.headers)(scope, receive, send)

    async def calls(self, calls: Request) -> Answer:
        if self.under_way == MOST_AT_ONCE:
            why = f"{MOST_AT_ONCE} requests are under way, and no more are taken; come again"
            return failed(Failure(503, "UNAVAILABLE", why))
        self.under_way += 1
        try:
            return await self.over_its_channel(calls)
        finally:
            self.under_way -= 1

    async def over_its_channel(self, calls: Request) -> Answer:
        if self.told.channel == "per-request":
            async with self.channel() as own:
                return await made(calls, own)
        if self.shared is None:  # a channel belongs to the loop in which it is made
            self.shared = self.channel()
        return await made(calls, self.shared)


async def made(calls: Request, channel: grpc.aio.Channel) -> Answer:
    call = channel.unary_unary(calls.method.path, **calls.method.codec)
    try:
        for n, message in calls.messages():
            calls.take(n, await call(message, timeout=CALL_TIMEOUT))
    except grpc.RpcError as e:
        return failed(Failure.of(e))
    except Failure as e:
        return failed(e)
    return calls.made.answer()
