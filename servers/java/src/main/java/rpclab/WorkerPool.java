package rpclab;

import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.Executors;

/** Limits the calls that run at once. Others queue in order, without a thread. */
final class WorkerPool {
  private final Set<CompletableFuture<Void>> queue = new LinkedHashSet<>();
  // The next call runs on another thread, so that a finished call returns.
  private final Executor next =
      Executors.newCachedThreadPool(
          work -> {
            Thread thread = new Thread(work, "worker");
            thread.setDaemon(true);
            return thread;
          });
  private int free;

  WorkerPool(int workers) {
    free = workers;
  }

  synchronized CompletableFuture<Void> enter() {
    if (free > 0) {
      free--;
      return CompletableFuture.completedFuture(null);
    }
    CompletableFuture<Void> turn = new CompletableFuture<>();
    queue.add(turn);
    return turn;
  }

  /** Takes a call out of the queue. False: the call is not queued, but has a worker. */
  synchronized boolean withdraw(CompletableFuture<Void> turn) {
    return queue.remove(turn);
  }

  synchronized void leave() {
    Iterator<CompletableFuture<Void>> first = queue.iterator();
    if (!first.hasNext()) {
      free++;
      return;
    }
    CompletableFuture<Void> turn = first.next();
    first.remove();
    turn.completeAsync(() -> null, next);
  }
}
