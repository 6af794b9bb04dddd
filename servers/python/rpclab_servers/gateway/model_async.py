"""The model async: Starlette under uvicorn with uvloop and httptools, and grpc.aio. One thread
answers all requests; each waits for its calls one by one, as published."""

import asyncio
import socket

import grpc
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request as HTTPRequest
from starlette.responses import Response
from starlette.routing import Route

from rpclab_servers.gateway import program
from rpclab_servers.gateway.calls import API, CALL_TIMEOUT, MAX_IN_FLIGHT, Request
from rpclab_servers.gateway.response import Failure, GatewayResponse, failed
from rpclab_servers.server import BACKLOG


def serve(settings, api: API, listener: socket.socket) -> None:
    class Program(uvicorn.Server):
        async def startup(self, sockets=None) -> None:
            await super().startup(sockets)
            program.ready(settings, listening)

    listening = program.name_of(listener)
    config = uvicorn.Config(
        Gateway(settings, api).application(),
        loop="uvloop",
        http="httptools",
        ws="none",
        lifespan="off",
        log_config=None,
        log_level="warning",
        access_log=False,
        backlog=BACKLOG,
        timeout_keep_alive=3600,  # the client decides how long a connection lasts
    )
    Program(config).run(sockets=[listener])


class Gateway:
    def __init__(self, settings, api: API):
        self.settings, self.api = settings, api
        self.options = program.options(settings)
        self.shared: grpc.aio.Channel | None = None
        self.slots = asyncio.Semaphore(MAX_IN_FLIGHT)

    def application(self) -> Starlette:
        return Starlette(routes=[Route("/{path:path}", self)])

    def channel(self) -> grpc.aio.Channel:
        return grpc.aio.insecure_channel(self.settings.target, self.options)

    async def __call__(self, scope, receive, send) -> None:
        request = HTTPRequest(scope)
        response = self.api.handle(
            request.method, request.url.path, scope["query_string"].decode("latin-1")
        )
        if isinstance(response, Request):
            response = await self.calls(response)
        await Response(response.body, response.status, response.headers)(scope, receive, send)

    async def calls(self, calls: Request) -> GatewayResponse:
        async with self.slots:  # other requests queue
            return await self.make_on_channel(calls)

    async def make_on_channel(self, calls: Request) -> GatewayResponse:
        if self.settings.channel != "shared":
            async with self.channel() as own:
                return await make_calls(calls, own)
        if self.shared is None:  # a channel belongs to the event loop that created it
            self.shared = self.channel()
        return await make_calls(calls, self.shared)


async def make_calls(calls: Request, channel: grpc.aio.Channel) -> GatewayResponse:
    call = channel.unary_unary(calls.method.path, **calls.method.codec)
    try:
        for n, message in calls.messages():
            calls.record(n, await call(message, timeout=CALL_TIMEOUT))
    except grpc.RpcError as e:
        return failed(Failure.of(e))
    except Failure as e:
        return failed(e)
    return calls.answered.response()
