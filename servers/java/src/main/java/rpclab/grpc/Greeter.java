package rpclab.grpc;

import io.grpc.stub.StreamObserver;
import java.util.concurrent.CompletableFuture;
import rpclab.Calls;
import rpclab.Flags;
import rpclab.Workloads;
import rpclab.v1.GreeterGrpc;
import rpclab.v1.GreeterOuterClass.HelloReply;
import rpclab.v1.GreeterOuterClass.HelloRequest;

final class Greeter extends GreeterGrpc.GreeterImplBase {
  private final Calls calls;
  private final Flags flags;

  Greeter(Calls calls, Flags flags) {
    this.calls = calls;
    this.flags = flags;
  }

  @Override
  public void sayHello(HelloRequest request, StreamObserver<HelloReply> to) {
    Responses.one(greet(request), to);
  }

  @Override
  public StreamObserver<HelloRequest> greetings(StreamObserver<HelloReply> to) {
    return Responses.stream(this::greet, to);
  }

  private CompletableFuture<HelloReply> greet(HelloRequest request) {
    return calls.respondLater(
        flags.delay.toNanos(),
        () ->
            HelloReply.newBuilder()
                .setMessage(Workloads.greeting(request.getName()))
                .setBackend(flags.id)
                .build());
  }
}
