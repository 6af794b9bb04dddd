package rpclab;

import io.grpc.stub.StreamObserver;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import rpclab.v1.GreeterGrpc;
import rpclab.v1.GreeterOuterClass.HelloReply;
import rpclab.v1.GreeterOuterClass.HelloRequest;

/** Answers SayHello after a delay, without a thread that waits for it. */
final class Hello extends GreeterGrpc.GreeterImplBase {
  private final String id;
  private final Duration delay;
  private final Executor afterDelay;

  Hello(String id, Duration delay) {
    this.id = id;
    this.delay = delay;
    this.afterDelay = CompletableFuture.delayedExecutor(delay.toNanos(), TimeUnit.NANOSECONDS);
  }

  @Override
  public void sayHello(HelloRequest request, StreamObserver<HelloReply> answer) {
    if (delay.isZero()) {
      greet(request, answer);
    } else {
      afterDelay.execute(() -> greet(request, answer));
    }
  }

  private void greet(HelloRequest request, StreamObserver<HelloReply> answer) {
    answer.onNext(
        HelloReply.newBuilder().setMessage("Hello, " + request.getName()).setBackend(id).build());
    answer.onCompleted();
  }
}
