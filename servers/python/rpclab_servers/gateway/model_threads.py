"""The models one-thread and threads: Flask under gunicorn, and grpcio. A thread answers one
request at a time."""

import socket

import grpc
from flask import Flask, Response, request

from rpclab_servers import gunicorn_server
from rpclab_servers.gateway import program
from rpclab_servers.gateway.calls import API, CALL_TIMEOUT, MAX_IN_FLIGHT, Request
from rpclab_servers.gateway.response import Failure, GatewayResponse, failed


def serve(settings, api: API, listener: socket.socket) -> None:
    listening = program.name_of(listener)
    threads = 1 if settings.model == "one-thread" else MAX_IN_FLIGHT  # other requests queue

    def load() -> Flask:  # in the worker process: channels do not survive a fork
        return application(settings, api)

    gunicorn_server.run(load, listener, threads, lambda: program.ready(settings, listening))


def application(settings, api: API) -> Flask:
    app = Flask("gateway", static_folder=None)
    options = program.options(settings)

    def channel() -> grpc.Channel:
        return grpc.insecure_channel(settings.target, options)

    shared = channel() if settings.channel == "shared" else None

    @app.route("/", defaults={"path": ""}, methods=METHODS)
    @app.route("/<path:path>", methods=METHODS)
    def respond(path: str) -> Response:
        response = api.handle(request.method, request.path, request.query_string.decode("latin-1"))
        if isinstance(response, Request):
            if shared:
                response = make_calls(response, shared)
            else:
                with channel() as own:
                    response = make_calls(response, own)
        return Response(response.body, response.status, response.headers)

    return app


METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")


def make_calls(calls: Request, channel: grpc.Channel) -> GatewayResponse:
    call = channel.unary_unary(calls.method.path, **calls.method.codec)
    try:
        for n, message in calls.messages():
            calls.record(n, call(message, timeout=CALL_TIMEOUT))
    except grpc.RpcError as e:
        return failed(Failure.of(e))
    except Failure as e:
        return failed(e)
    return calls.answered.response()
