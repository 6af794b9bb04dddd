"""The models one-thread and threads: Flask under gunicorn, and grpcio. A thread answers one
request at a time."""

import socket

import grpc
from flask import Flask, Response, request

from rpclab_servers import under_gunicorn
from rpclab_servers.gateway import program
from rpclab_servers.gateway.answer import Answer, Failure, failed
from rpclab_servers.gateway.calls import CALL_TIMEOUT, MOST_AT_ONCE, Request, Study


def serve(told, study: Study, listener: socket.socket) -> None:
    listening = program.name_of(listener)
    threads = 1 if told.model == "one-thread" else MOST_AT_ONCE  # other requests queue

    def load() -> Flask:  # in the process that calls: channels do not survive a fork
        return application(told, study)

    under_gunicorn.run(load, listener, threads, lambda: program.ready(told, listening))


def application(told, study: Study) -> Flask:
    app = Flask("gateway", static_folder=None)
    options = program.options(told)

    def channel() -> grpc.Channel:
        return grpc.insecure_channel(told.target, options)

    shared = channel() if told.channel == "shared" else None

    @app.route("/", defaults={"path": ""}, methods=METHODS)
    @app.route("/<path:path>", methods=METHODS)
    def answer(path: str) -> Response:
        a = study.answer(request.method, request.path, request.query_string.decode("latin-1"))
        if isinstance(a, Request):
            if shared:
                a = made(a, shared)
            else:
                with channel() as own:
                    a = made(a, own)
        return Response(a.body, a.status, a.headers)

    return app


METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")


def made(calls: Request, channel: grpc.Channel) -> Answer:
    call = channel.unary_unary(calls.method.path, **calls.method.codec)
    try:
        for n, message in calls.messages():
            calls.take(n, call(message, timeout=CALL_TIMEOUT))
    except grpc.RpcError as e:
        return failed(Failure.of(e))
    except Failure as e:
        return failed(e)
    return calls.made.answer()
