package rpclab.grpc;

import io.grpc.stub.StreamObserver;
import java.util.concurrent.atomic.AtomicLong;
import rpclab.Calls;
import rpclab.Flags;
import rpclab.v1.CounterGrpc;
import rpclab.v1.CounterOuterClass.IncrementReply;
import rpclab.v1.CounterOuterClass.IncrementRequest;

final class Counter extends CounterGrpc.CounterImplBase {
  private final AtomicLong number = new AtomicLong();
  private final Calls calls;
  private final Flags flags;

  Counter(Calls calls, Flags flags) {
    this.calls = calls;
    this.flags = flags;
  }

  @Override
  public void increment(IncrementRequest request, StreamObserver<IncrementReply> to) {
    Responses.one(
        calls.respondLater(
            0,
            () ->
                IncrementReply.newBuilder()
                    .setNumber(number.incrementAndGet())
                    .setServerName(flags.id)
                    .build()),
        to);
  }
}
