"""The model grpc-aio: grpcio's asynchronous server, all calls in one thread. A call that
uses CPU time delays all others."""

import asyncio
import signal
import sys

import grpc

from rpclab_servers import grpc_services
from rpclab_servers.backend import Backend, Rejected, log
from rpclab_servers.workloads import Work, Workloads


def serve(settings, backend: Backend) -> None:
    asyncio.run(_serve(settings, backend))


async def _serve(settings, backend: Backend) -> None:
    stopping = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopping.set)
    server = grpc.aio.server(options=grpc_services.OPTIONS)
    works = Workloads(grpc_services.MESSAGES, settings.id, settings.delay, settings.spread).all()
    calls = Calls(backend, settings.workers)
    for name, handlers in grpc_services.services(works, calls.unary, calls.stream):
        grpc_services.register(server, name, handlers)
    grpc_services.register(server, grpc_services.HEALTH, grpc_services.health(calls.check))
    grpc_services.open_port(server, settings)
    await server.start()
    log.info("%s serves", settings.id)
    if settings.supervised:
        backend.execute_commands()
    await stopping.wait()
    backend.stop()
    await asyncio.sleep(settings.drain)
    await server.stop(grpc_services.SHUTDOWN_GRACE)
    if settings.supervised:
        backend.count()


class Calls:
    """Turns workloads into coroutines of grpc.aio."""

    def __init__(self, backend: Backend, workers: int):
        self.backend = backend
        self.identity = grpc_services.identity(backend)
        self.workers = asyncio.Semaphore(workers or sys.maxsize)

    def unary(self, work: Work):
        async def respond(request, context: grpc.aio.ServicerContext):
            context.set_trailing_metadata(self.identity)
            return await self.respond(work, request, context)

        return respond

    def stream(self, work: Work):
        async def respond_to_stream(requests, context: grpc.aio.ServicerContext):
            context.set_trailing_metadata(self.identity)
            await context.send_initial_metadata(self.identity)
            async for request in requests:
                yield await self.respond(work, request, context)

        return respond_to_stream

    async def respond(self, work: Work, request, context: grpc.aio.ServicerContext):
        try:
            fault = self.backend.begin()
            async with self.workers:
                reply, pause = self.backend.respond(work, request, fault)
                if pause:
                    await asyncio.sleep(pause)
                return reply
        except Rejected as e:
            await context.abort(grpc_services.STATUS[e.code], e.message)

    async def check(self, request, context: grpc.aio.ServicerContext):
        context.set_trailing_metadata(self.identity)
        if request.service:
            await context.abort(grpc.StatusCode.NOT_FOUND, grpc_services.NO_SERVICE)
        return grpc_services.health_of(self.backend)
