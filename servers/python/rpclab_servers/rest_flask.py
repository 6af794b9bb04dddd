"""The model flask: Flask under gunicorn, one process with threads, as people run it."""

import time

from flask import Flask, Response, request
from werkzeug.exceptions import HTTPException

from rpclab_servers import json_messages, under_gunicorn
from rpclab_servers.backend import Backend, Refused
from rpclab_servers.json_messages import refusal
from rpclab_servers.server import bound
from rpclab_servers.workloads import Work, Workloads

JSON = "application/json"


def serve(told, backend: Backend) -> None:
    def ready() -> None:
        if told.supervised:
            backend.obey()

    def gone() -> None:
        if told.supervised:
            backend.count()

    def leaving() -> None:
        backend.go()
        time.sleep(told.drain)

    def load() -> Flask:
        return application(told, backend)

    threads = told.workers or 1  # gunicorn's own number
    under_gunicorn.run(load, bound(told.listen), threads, ready, gone, leaving)


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
