package rpclab.grpc;

import io.grpc.stub.StreamObserver;
import rpclab.Calls;
import rpclab.Flags;
import rpclab.Workloads;
import rpclab.v1.FibonacciGrpc;
import rpclab.v1.FibonacciOuterClass.FibonacciReply;
import rpclab.v1.FibonacciOuterClass.FibonacciRequest;

final class Fibonacci extends FibonacciGrpc.FibonacciImplBase {
  private final Calls calls;
  private final Flags flags;

  Fibonacci(Calls calls, Flags flags) {
    this.calls = calls;
    this.flags = flags;
  }

  @Override
  public void compute(FibonacciRequest request, StreamObserver<FibonacciReply> to) {
    Responses.one(
        calls.respondLater(
            0,
            () ->
                FibonacciReply.newBuilder()
                    .setValue(Workloads.fibonacci(Integer.toUnsignedLong(request.getN())))
                    .setServerName(flags.id)
                    .build()),
        to);
  }
}
