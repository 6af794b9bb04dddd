package rpclab;

import io.grpc.Status;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Supplier;

/** What every call goes through: it is counted, queues for a worker, and suffers what ails us. */
public final class Calls {
  private final LongAdder begun = new LongAdder();
  private final Room room; // null: for all
  private volatile Ailment ailment = Ailment.NONE;

  Calls(int workers) {
    room = workers > 0 ? new Room(workers) : null;
  }

  /** The number of calls begun. */
  long begun() {
    return begun.sum();
  }

  /** Ails so from now on, calls under way not. */
  void suffer(Ailment ailment) {
    this.ailment = ailment;
  }

  /** Works, then waits and answers. The thread is the call's own, and sleeps. */
  public <A> A answer(long waitNanos, Supplier<A> work) {
    Ailment ailment = begin();
    if (room != null) {
      room.enter().join();
    }
    try {
      long began = System.nanoTime();
      A answer = work.get();
      sleep(waitNanos);
      sleep(ailment.more(System.nanoTime() - began));
      return answer;
    } finally {
      if (room != null) {
        room.leave();
      }
    }
  }

  /** Works, then answers when the wait is over. No thread waits for it, but a timer. */
  public <A> CompletableFuture<A> answerLater(long waitNanos, Supplier<A> work) {
    try {
      Ailment ailment = begin();
      if (room == null) {
        return later(waitNanos, work, ailment);
      }
      return room.enter()
          .thenCompose(entered -> later(waitNanos, work, ailment))
          .whenComplete((answer, error) -> room.leave());
    } catch (RuntimeException e) {
      return CompletableFuture.failedFuture(e);
    }
  }

  private Ailment begin() {
    begun.increment();
    Ailment ailment = this.ailment;
    if (ailment.code() != 0) {
      throw Status.fromCodeValue(ailment.code())
          .withDescription("in an error loop, as it was told")
          .asRuntimeException();
    }
    return ailment;
  }

  private static <A> CompletableFuture<A> later(long waitNanos, Supplier<A> work, Ailment ailment) {
    long began = System.nanoTime();
    A answer = work.get();
    return after(waitNanos, answer)
        .thenCompose(same -> after(ailment.more(System.nanoTime() - began), same));
  }

  private static <A> CompletableFuture<A> after(long nanos, A answer) {
    return nanos <= 0
        ? CompletableFuture.completedFuture(answer)
        : new CompletableFuture<A>().completeOnTimeout(answer, nanos, TimeUnit.NANOSECONDS);
  }

  private static void sleep(long nanos) {
    if (nanos <= 0) {
      return;
    }
    try {
      TimeUnit.NANOSECONDS.sleep(nanos);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw Status.CANCELLED.withDescription("the server goes").asRuntimeException();
    }
  }
}
