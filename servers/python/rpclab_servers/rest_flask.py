"""The model flask: Flask under gunicorn, one process with threads."""

import time

from flask import Flask, Response, request
from werkzeug.exceptions import HTTPException

from rpclab_servers import gunicorn_server, json_messages
from rpclab_servers.backend import Backend, Rejected
from rpclab_servers.json_messages import error_body
from rpclab_servers.server import bound
from rpclab_servers.workloads import Work, Workloads

JSON = "application/json"


def serve(settings, backend: Backend) -> None:
    def ready() -> None:
        if settings.supervised:
            backend.execute_commands()

    def gone() -> None:
        if settings.supervised:
            backend.count()

    def leaving() -> None:
        backend.stop()
        time.sleep(settings.drain)

    def load() -> Flask:
        return application(settings, backend)

    threads = settings.workers or 1  # gunicorn's default
    gunicorn_server.run(load, bound(settings.listen), threads, ready, gone, leaving)


def application(settings, backend: Backend) -> Flask:
    app = Flask("rpclab", static_folder=None)
    app.config["MAX_CONTENT_LENGTH"] = json_messages.LARGEST_BODY
    for work in Workloads(json_messages, settings.id, settings.delay, settings.spread).all():
        if work.path:
            app.add_url_rule(work.path, work.path, view(work, backend), methods=["POST"])

    @app.get("/healthz")
    def health() -> tuple[str, int]:
        return ("SERVING\n", 200) if backend.serving() else ("NOT_SERVING\n", 503)

    @app.after_request
    def identify(response: Response) -> Response:
        response.headers["rpclab-backend"] = backend.id
        return response

    @app.errorhandler(Rejected)
    def refuse(e: Rejected) -> Response:
        return Response(error_body(e.message), json_messages.status(e.code), mimetype=JSON)

    @app.errorhandler(HTTPException)
    def wrong(e: HTTPException) -> Response:
        return Response(error_body(e.description or e.name), e.code, mimetype=JSON)

    return app


def view(work: Work, backend: Backend):
    read = json_messages.decoder(getattr(json_messages, work.request))

    def respond() -> Response:
        reply, pause = backend.respond(work, read(request.get_data()), backend.begin())
        if pause:
            time.sleep(pause)
        return Response(json_messages.encode(reply), mimetype=JSON)

    return respond
