package rpclab.grpc;

import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;

/** Sends responses to gRPC streams when they are ready. */
final class Responses {
  private Responses() {}

  /** Sends the response of a unary call. */
  static <A> void one(CompletableFuture<A> response, StreamObserver<A> to) {
    ((ServerCallStreamObserver<A>) to).setOnCancelHandler(() -> response.cancel(false));
    response.whenComplete(
        (message, error) -> {
          if (response.isCancelled()) {
            return; // the client is gone
          }
          if (error != null) {
            to.onError(error);
          } else {
            to.onNext(message);
            to.onCompleted();
          }
        });
  }

  /** Answers each message of a stream before it reads the next. */
  static <Q, A> StreamObserver<Q> stream(
      Function<Q, CompletableFuture<A>> response, StreamObserver<A> observer) {
    ServerCallStreamObserver<A> to = (ServerCallStreamObserver<A>) observer;
    to.disableAutoRequest();
    to.request(1);
    var responses = new StreamObserver<Q>() {
      private CompletableFuture<A> last = CompletableFuture.completedFuture(null);

      @Override
      public void onNext(Q request) {
        CompletableFuture<A> next = response.apply(request);
        last = next;
        next.whenComplete(
            (message, error) -> {
              if (next.isCancelled()) {
                return; // the client is gone
              }
              if (error != null) {
                to.onError(error);
              } else {
                to.onNext(message);
                to.request(1);
              }
            });
      }

      @Override
      public void onCompleted() {
        last.thenRun(to::onCompleted);
      }

      @Override
      public void onError(Throwable gone) {}
    };
    to.setOnCancelHandler(() -> responses.last.cancel(false));
    return responses;
  }
}
