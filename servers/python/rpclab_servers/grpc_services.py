"""What both gRPC models serve: handlers of every method in the protobuf files."""

import sys
from collections.abc import Callable, Iterator
from types import SimpleNamespace

import grpc
from google.protobuf import message_factory
from grpc_health.v1 import health_pb2
from rpclab.v1 import chain_pb2, counter_pb2, fibonacci_pb2, greeter_pb2, order_pb2

from rpclab_servers.backend import Backend
from rpclab_servers.workloads import Work

FILES = (greeter_pb2, fibonacci_pb2, counter_pb2, chain_pb2, order_pb2)

HEALTH = "grpc.health.v1.Health"
NO_SERVICE = "only the health of the whole server is known: use the empty service name"

MESSAGES = SimpleNamespace(
    **{
        name: getattr(file, name)
        for file in FILES
        for name in file.DESCRIPTOR.message_types_by_name
    }
)

OPTIONS = [
    ("grpc.so_reuseport", 0),  # a second server on the port is an error
    ("grpc.server_handshake_timeout_ms", 10_000),  # a silent client delays shutdown no longer
]

SHUTDOWN_GRACE = 10**6  # seconds that calls in flight may take during shutdown: no limit

STATUS = {code.value[0]: code for code in grpc.StatusCode}


def identity(backend: Backend) -> tuple[tuple[str, str], ...]:
    """The metadata of every response."""
    return (("rpclab-backend", backend.id),)


def services(
    works: list[Work], unary: Callable, stream: Callable
) -> Iterator[tuple[str, dict[str, grpc.RpcMethodHandler]]]:
    """Every service with its handlers; unary and stream turn a workload into a function."""
    by_method = {method: work for work in works for method in work.methods}
    for file in FILES:
        for service in file.DESCRIPTOR.services_by_name.values():
            yield (
                service.full_name,
                {m.name: handler(m, by_method[m.name], unary, stream) for m in service.methods},
            )


def handler(method, work: Work, unary: Callable, stream: Callable) -> grpc.RpcMethodHandler:
    codec = {
        "request_deserializer": message_factory.GetMessageClass(method.input_type).FromString,
        "response_serializer": message_factory.GetMessageClass(
            method.output_type
        ).SerializeToString,
    }
    if method.client_streaming:
        return grpc.stream_stream_rpc_method_handler(stream(work), **codec)
    return grpc.unary_unary_rpc_method_handler(unary(work), **codec)


def health(check: Callable) -> dict[str, grpc.RpcMethodHandler]:
    return {
        "Check": grpc.unary_unary_rpc_method_handler(
            check,
            request_deserializer=health_pb2.HealthCheckRequest.FromString,
            response_serializer=health_pb2.HealthCheckResponse.SerializeToString,
        )
    }


def health_of(backend: Backend) -> health_pb2.HealthCheckResponse:
    kinds = health_pb2.HealthCheckResponse
    return kinds(status=kinds.SERVING if backend.serving() else kinds.NOT_SERVING)


def register(server, name: str, handlers: dict[str, grpc.RpcMethodHandler]) -> None:
    """Add a service as generated code does."""
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(name, handlers),))
    server.add_registered_method_handlers(name, handlers)


def open_port(server, settings) -> None:
    host, port = settings.listen
    address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    try:
        server.add_insecure_port(address)
    except RuntimeError as e:
        sys.exit(f"cannot listen on {address}: {e}")
