"""The model grpc-sync: grpcio with a pool of threads."""

import signal
import time
from concurrent.futures import ThreadPoolExecutor

import grpc

from rpclab_servers import grpc_services
from rpclab_servers.backend import Backend, Rejected, log
from rpclab_servers.workloads import Work, Workloads


def serve(settings, backend: Backend) -> None:
    # Later threads inherit the mask. A handler that sets an event could deadlock with its wait.
    stop_signals = {signal.SIGTERM, signal.SIGINT}
    signal.pthread_sigmask(signal.SIG_BLOCK, stop_signals)
    # As published: one call at a time by default. A stream occupies a thread, so streams need as
    # many workers as there are streams.
    server = grpc.server(ThreadPoolExecutor(settings.workers or 1), options=grpc_services.OPTIONS)
    works = Workloads(grpc_services.MESSAGES, settings.id, settings.delay, settings.spread).all()
    calls = Calls(backend)
    for name, handlers in grpc_services.services(works, calls.unary, calls.stream):
        grpc_services.register(server, name, handlers)
    grpc_services.register(server, grpc_services.HEALTH, grpc_services.health(calls.health()))
    grpc_services.open_port(server, settings)
    server.start()
    log.info("%s serves", settings.id)
    if settings.supervised:
        backend.execute_commands()
    signal.sigwait(stop_signals)
    backend.stop()
    time.sleep(settings.drain)
    server.stop(grpc_services.SHUTDOWN_GRACE).wait()
    if settings.supervised:
        backend.count()


class Calls:
    """Turns workloads into functions of grpcio."""

    def __init__(self, backend: Backend):
        self.backend = backend
        self.identity = grpc_services.identity(backend)

    def unary(self, work: Work):
        def respond(request, context: grpc.ServicerContext):
            context.set_trailing_metadata(self.identity)
            return self.respond(work, request, context)

        return respond

    def stream(self, work: Work):
        def respond_to_stream(requests, context: grpc.ServicerContext):
            context.set_trailing_metadata(self.identity)
            context.send_initial_metadata(self.identity)
            for request in requests:
                yield self.respond(work, request, context)

        return respond_to_stream

    def respond(self, work: Work, request, context: grpc.ServicerContext):
        try:
            reply, pause = self.backend.respond(work, request, self.backend.begin())
        except Rejected as e:
            context.abort(grpc_services.STATUS[e.code], e.message)
        if pause:
            time.sleep(pause)
        return reply

    def health(self):
        def check(request, context: grpc.ServicerContext):
            context.set_trailing_metadata(self.identity)
            if request.service:
                context.abort(grpc.StatusCode.NOT_FOUND, grpc_services.NO_SERVICE)
            return grpc_services.health_of(self.backend)

        # Health checks do not queue behind calls: a busy server is healthy.
        check.experimental_thread_pool = ThreadPoolExecutor(1)
        return check
