package rpclab.grpc;

import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;

/** Sends answers when they are there. */
final class Answers {
  private Answers() {}

  /** The answer to the one request of a call. */
  static <A> void one(CompletableFuture<A> answer, StreamObserver<A> to) {
    answer.whenComplete(
        (message, error) -> {
          if (error != null) {
            to.onError(error);
          } else {
            to.onNext(message);
            to.onCompleted();
          }
        });
  }

  /** The answers to the messages of a stream, each before the next message is read. */
  static <Q, A> StreamObserver<Q> inTurn(
      Function<Q, CompletableFuture<A>> answer, StreamObserver<A> observer) {
    ServerCallStreamObserver<A> to = (ServerCallStreamObserver<A>) observer;
    to.disableAutoRequest();
    to.setOnCancelHandler(() -> {}); // else an answer to one who went is an error
    to.request(1);
    return new StreamObserver<>() {
      private CompletableFuture<A> last = CompletableFuture.completedFuture(null);

      @Override
      public void onNext(Q request) {
        last = answer.apply(request);
        last.whenComplete(
            (message, error) -> {
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
  }
}
