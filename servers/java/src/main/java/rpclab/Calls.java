package rpclab;

import io.grpc.Status;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Supplier;

/** Counts calls, queues them for a worker and applies the injected fault. */
public final class Calls {
  private final LongAdder started = new LongAdder();
  private final WorkerPool pool; // null: no limit
  private volatile Fault fault = Fault.NONE;

  Calls(int workers) {
    pool = workers > 0 ? new WorkerPool(workers) : null;
  }

  /** The number of calls started. */
  long started() {
    return started.sum();
  }

  /** Applies the fault to every later call. */
  void inject(Fault fault) {
    this.fault = fault;
  }

  /** Responds after a wait, in which the call's thread sleeps. */
  public <A> A respond(long waitNanos, Supplier<A> work) {
    Fault fault = begin();
    if (pool != null) {
      pool.enter().join();
    }
    try {
      long began = System.nanoTime();
      A response = work.get();
      sleep(waitNanos);
      sleep(fault.extraNanos(System.nanoTime() - began));
      return response;
    } finally {
      if (pool != null) {
        pool.leave();
      }
    }
  }

  /**
   * Responds after a wait of a timer, which blocks no thread. When the response is cancelled, the
   * call leaves the queue, or its worker once the work has ended.
   */
  public <A> CompletableFuture<A> respondLater(long waitNanos, Supplier<A> work) {
    try {
      Fault fault = begin();
      if (pool == null) {
        return later(waitNanos, work, fault);
      }
      CompletableFuture<Void> turn = pool.enter();
      CompletableFuture<CompletableFuture<A>> worked =
          turn.thenApply(entered -> later(waitNanos, work, fault));
      CompletableFuture<A> response = worked.thenCompose(waits -> waits);
      // Return this future, not that of whenComplete: only its own cancellation runs the action.
      response.whenComplete(
          (message, error) -> {
            if (!pool.withdraw(turn)) {
              worked.whenComplete((waits, failed) -> pool.leave());
            }
          });
      return response;
    } catch (RuntimeException e) {
      return CompletableFuture.failedFuture(e);
    }
  }

  private Fault begin() {
    started.increment();
    Fault fault = this.fault;
    if (fault.fails()) {
      throw Status.fromCodeValue(fault.code())
          .withDescription("the server is in an error loop")
          .asRuntimeException();
    }
    return fault;
  }

  private static <A> CompletableFuture<A> later(long waitNanos, Supplier<A> work, Fault fault) {
    long began = System.nanoTime();
    A response = work.get();
    return after(waitNanos, response)
        .thenCompose(same -> after(fault.extraNanos(System.nanoTime() - began), same));
  }

  private static <A> CompletableFuture<A> after(long nanos, A response) {
    return nanos <= 0
        ? CompletableFuture.completedFuture(response)
        : new CompletableFuture<A>().completeOnTimeout(response, nanos, TimeUnit.NANOSECONDS);
  }

  private static void sleep(long nanos) {
    if (nanos <= 0) {
      return;
    }
    try {
      TimeUnit.NANOSECONDS.sleep(nanos);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw Status.CANCELLED.withDescription("the server is shutting down").asRuntimeException();
    }
  }
}
