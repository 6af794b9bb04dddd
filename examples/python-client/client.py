"""Calls rpclab's greeter: the client of an owner who writes Python."""

import sys

import grpc

sys.path += ["../../python", "../../api"]
import rpclab_client

messages, services = grpc.protos_and_services("rpclab/v1/greeter.proto")


def say_hello(greeter, call):
    reply = greeter.SayHello(messages.HelloRequest(name="you"), timeout=call.timeout)
    call.backend = reply.backend


rpclab_client.run_grpc(services.GreeterStub, say_hello)
