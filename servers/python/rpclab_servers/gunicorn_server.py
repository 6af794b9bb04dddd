"""A WSGI application under gunicorn, one process with threads."""

import signal
import socket
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from gunicorn.app.base import BaseApplication
from gunicorn.arbiter import Arbiter
from gunicorn.workers import gthread

from rpclab_servers.server import BACKLOG

HEALTH = b"GET /healthz "


def run(
    load: Callable,
    listener: socket.socket,
    threads: int,
    ready: Callable[[], None],
    gone: Callable[[], None] = lambda: None,
    leaving: Callable[[], None] = lambda: None,
) -> None:
    """Serves the application that load returns until SIGTERM. The worker calls load, then ready,
    and gone when it ends. The process that receives SIGTERM calls leaving first."""

    def begin(_worker) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is handled by the arbiter
        # If the worker exits with 3, gunicorn's arbiter exits with 3 too, as the contract requires.
        ready()

    class Program(BaseApplication):
        def load_config(self) -> None:
            for name, value in {
                "bind": f"fd://{listener.detach()}",
                "backlog": BACKLOG,
                "worker_class": Worker,
                "threads": threads,
                # gunicorn's defaults (2 s, 1,000 connections, 30 s, 30 s) would lose calls: the
                # client decides how long a connection lasts, and neither a paused process nor
                # a long call ends it.
                "keepalive": 3600,
                "worker_connections": 100_000,
                "timeout": 0,
                "graceful_timeout": 10**6,
                "control_socket_disable": True,
                "loglevel": "warning",
                "post_worker_init": begin,
                "worker_exit": lambda _arbiter, _worker: gone(),
            }.items():
                self.cfg.set(name, value)

        def load(self):
            return load()

        def run(self) -> None:
            Leaving(self).run()

    class Worker(gthread.ThreadWorker):
        def init_process(self) -> None:
            self.health = ThreadPoolExecutor(1)
            super().init_process()

        def enqueue_req(self, connection) -> None:
            start = start_of(connection)
            if start is None and self.alive:
                waits = Future()
                waits.set_result(gthread._DEFER)
                self.finish_request(connection, waits)
                return
            # Health checks do not queue behind calls: a busy server is healthy.
            pool = self.health if start == HEALTH else self.tpool
            pool.submit(self.handle, connection).add_done_callback(
                lambda done: self.method_queue.defer(self.finish_request, connection, done)
            )

        def handle(self, connection):
            # A connection without a call must not hold a thread for 5 s.
            if not connection.initialized and not connection.wait_for_data(0):
                return gthread._DEFER
            return super().handle(connection)

        def murder_pending(self) -> None:
            if not self.alive:  # no call waits on these connections
                for connection in self.pending_conns:
                    connection.timeout = 0
            super().murder_pending()

    class Leaving(Arbiter):
        def handle_term(self) -> None:
            leaving()
            super().handle_term()

        handle_int = handle_term

    Program().run()


def start_of(connection) -> bytes | None:
    """The start of the connection's next request, as long as HEALTH. None: nothing has arrived."""
    if connection.initialized and (read := connection.parser.unreader.buf.getvalue()):
        return read[: len(HEALTH)]
    try:
        return connection.sock.recv(len(HEALTH), socket.MSG_PEEK | socket.MSG_DONTWAIT)
    except BlockingIOError:
        return None
    except OSError:
        return b""  # handle reports it
