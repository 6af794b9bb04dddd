"""The model flask: Flask under gunicorn, one process with threads, as people run it."""

import signal
import time

from flask import Flask, Response, request
from gunicorn.app.base import BaseApplication
from gunicorn.arbiter import Arbiter
from gunicorn.workers import gthread
from werkzeug.exceptions import HTTPException

from rpclab_servers import json_messages
from rpclab_servers.backend import Backend, Refused
from rpclab_servers.json_messages import refusal
from rpclab_servers.server import bound
from rpclab_servers.workloads import Work, Workloads

JSON = "application/json"


def serve(told, backend: Backend) -> None:
    listener = bound(told.listen)

    def ready(_worker) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # typed at a terminal, it is the arbiter's
        if told.supervised:
            # Its exit status is also what gunicorn takes for a worker that cannot start, after
            # which the arbiter ends with the same: so the whole ends as the contract says.
            backend.obey()

    def gone(_arbiter, _worker) -> None:
        if told.supervised:
            backend.count()

    class Program(BaseApplication):
        def load_config(self) -> None:
            for name, value in {
                "bind": f"fd://{listener.detach()}",
                "worker_class": Worker,
                "threads": told.workers or 1,  # gunicorn's own number
                # Where people take gunicorn's own 2 s, 1,000 connections, 30 s and 30 s, calls
                # would be lost that are not the server's doing: a connection lasts as long as
                # its client wants, and neither a pause of the process nor a long call ends it.
                "keepalive": 3600,
                "worker_connections": 100_000,
                "timeout": 0,
                "graceful_timeout": 10**6,
                "control_socket_disable": True,
                "loglevel": "warning",
                "post_worker_init": ready,
                "worker_exit": gone,
            }.items():
                self.cfg.set(name, value)

        def load(self) -> Flask:
            return application(told, backend)

        def run(self) -> None:
            Draining(self).run()

    class Worker(gthread.ThreadWorker):
        def handle(self, connection):
            # Or else one that is opened ahead of its first call holds a thread for 5 s.
            if not connection.initialized and not connection.wait_for_data(0):
                return gthread._DEFER
            return super().handle(connection)

        def murder_pending(self) -> None:
            if not self.alive:  # who never asked has no call to be answered
                for connection in self.pending_conns:
                    connection.timeout = 0
            super().murder_pending()

    class Draining(Arbiter):
        def handle_term(self) -> None:
            backend.go()
            time.sleep(told.drain)
            super().handle_term()

        handle_int = handle_term

    Program().run()


def application(told, backend: Backend) -> Flask:
    app = Flask("rpclab", static_folder=None)
    app.config["MAX_CONTENT_LENGTH"] = json_messages.LARGEST_BODY
    for work in Workloads(json_messages, told.id, told.delay, told.spread).all():
        if work.path:
            app.add_url_rule(work.path, work.path, view(work, backend), methods=["POST"])

    @app.get("/healthz")
    def health() -> tuple[str, int]:
        return ("SERVING\n", 200) if backend.serving() else ("NOT_SERVING\n", 503)

    @app.after_request
    def identify(answer: Response) -> Response:
        answer.headers["rpclab-backend"] = backend.id
        return answer

    @app.errorhandler(Refused)
    def refuse(e: Refused) -> Response:
        return Response(refusal(e.message), json_messages.status(e.code), mimetype=JSON)

    @app.errorhandler(HTTPException)
    def wrong(e: HTTPException) -> Response:
        return Response(refusal(e.description or e.name), e.code, mimetype=JSON)

    return app


def view(work: Work, backend: Backend):
    read = json_messages.decoder(getattr(json_messages, work.request))

    def answer() -> Response:
        reply, pause = backend.answer(work, read(request.get_data()))
        if pause:
            time.sleep(pause)
        return Response(json_messages.encode(reply), mimetype=JSON)

    return answer
