package rpclab.grpc;

import io.grpc.stub.StreamObserver;
import java.util.concurrent.CompletableFuture;
import rpclab.Calls;
import rpclab.Workloads;
import rpclab.v1.ChainGrpc;
import rpclab.v1.ChainOuterClass.Number;

final class Chain extends ChainGrpc.ChainImplBase {
  private final Calls calls;

  Chain(Calls calls) {
    this.calls = calls;
  }

  @Override
  public void increase(Number number, StreamObserver<Number> to) {
    Responses.one(after(number), to);
  }

  @Override
  public StreamObserver<Number> increases(StreamObserver<Number> to) {
    return Responses.stream(this::after, to);
  }

  private CompletableFuture<Number> after(Number number) {
    return calls.respondLater(
        0,
        () -> {
          long after = Workloads.increase(Integer.toUnsignedLong(number.getValue()));
          return Number.newBuilder().setValue((int) after).build();
        });
  }
}
