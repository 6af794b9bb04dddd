"""The model grpc-aio: grpcio's asynchronous server, all calls in one thread. A call that
takes processor time holds up all others."""

import asyncio
import signal
import sys

import grpc

from rpclab_servers import grpc_services
from rpclab_servers.backend import Backend, Refused, log
from rpclab_servers.workloads import Work, Workloads


def serve(told, backend: Backend) -> None:
    asyncio.run(_serve(told, backend))


async def _serve(told, backend: Backend) -> None:
    going = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, going.set)
    server = grpc.aio.server(options=grpc_services.OPTIONS)
    works = Workloads(grpc_services.MESSAGES, told.id, told.delay, told.spread).all()
    calls = Calls(backend, told.workers)
    for name, handlers in grpc_services.services(works, calls.unary, calls.stream):
        grpc_services.register(server, name, handlers)
    grpc_services.register(server, grpc_services.HEALTH, grpc_services.health(calls.check))
    grpc_services.open_port(server, told)
    await server.start()
    log.info("%s serves", told.id)
    if told.supervised:
        backend.obey()
    await going.wait()
    backend.go()
    await asyncio.sleep(told.drain)
    await server.stop(grpc_services.FOR_EVER)
    if told.supervised:
        backend.count()


class Calls:
    """Makes coroutines of grpc.aio of workloads."""

    def __init__(self, backend: Backend, workers: int):
        self.backend = backend
        self.identity = grpc_services.identity(backend)
        self.room = asyncio.Semaphore(workers or sys.maxsize)

    def unary(self, work: Work):
        async def answer(request, context: grpc.aio.ServicerContext):
            context.set_trailing_metadata(self.identity)
            return await self.answer(work, request, context)

        return answer

    def stream(self, work: Work):
        async def answers(requests, context: grpc.aio.ServicerContext):
            context.set_trailing_metadata(self.identity)
            await context.send_initial_metadata(self.identity)
            async for request in requests:
                yield await self.answer(work, request, context)

        return answers

    async def answer(self, work: Work, request, context: grpc.aio.ServicerContext):
        try:
            async with self.room:
                reply, pause = self.backend.answer(work, request)
                if pause:
                    await asyncio.sleep(pause)
                return reply
        except Refused as e:
            await context.abort(grpc_services.STATUS[e.code], e.message)

    async def check(self, request, context: grpc.aio.ServicerContext):
        context.set_trailing_metadata(self.identity)
        if request.service:
            await context.abort(grpc.StatusCode.NOT_FOUND, grpc_services.NO_SERVICE)
        return grpc_services.health_of(self.backend)
