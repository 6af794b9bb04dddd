"""Calls rpclab's greeter: the client of an owner who writes Python."""

import sys

import grpc

sys.path += ["../../python", "../../api"]
import rpclab_client

messages, services = grpc.protos_and_services("rpclab/v1/greeter.proto")


def open_client(job):
    greeter = services.GreeterStub(grpc.insecure_channel(job["target"]))

    def say_hello(call):
        reply = greeter.SayHello(messages.HelloRequest(name="you"), timeout=call.timeout)
        call.backend = reply.backend

    return say_hello


rpclab_client.run(open_client)
