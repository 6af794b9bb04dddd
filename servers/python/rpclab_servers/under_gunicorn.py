"""A WSGI application under gunicorn, one process with threads, as people run it."""

import signal
import socket
from collections.abc import Callable

from gunicorn.app.base import BaseApplication
from gunicorn.arbiter import Arbiter
from gunicorn.workers import gthread


def run(
    load: Callable,
    listener: socket.socket,
    threads: int,
    ready: Callable[[], None],
    gone: Callable[[], None] = lambda: None,
    leaving: Callable[[], None] = lambda: None,
) -> None:
    """Serves what load returns until it is told to go. The worker calls load and then ready,
    and gone at its end; before that, the process that was told to go calls leaving."""

    def begin(_worker) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # typed at a terminal, it is the arbiter's
        # A supervised worker that ends with 3 is to gunicorn one that cannot start, after which
        # the arbiter ends with the same: so the whole ends as the contract says.
        ready()

    class Program(BaseApplication):
        def load_config(self) -> None:
            for name, value in {
                "bind": f"fd://{listener.detach()}",
                "worker_class": Worker,
                "threads": threads,
                # Where people take gunicorn's own 2 s, 1,000 connections, 30 s and 30 s, calls
                # would be lost that are not the server's doing: a connection lasts as long as
                # its client wants, and neither a pause of the process nor a long call ends it.
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

    class Leaving(Arbiter):
        def handle_term(self) -> None:
            leaving()
            super().handle_term()

        handle_int = handle_term

    Program().run()
