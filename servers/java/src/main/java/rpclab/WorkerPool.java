package rpclab;

import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.Executors;

/** Limits the calls that run at once. Others queue in order, without a thread. */
final class WorkerPool {
  private final Queue<CompletableFuture<Void>> queue = new ArrayDeque<>();
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

  synchronized void leave() {
    CompletableFuture<Void> turn = queue.poll();
    if (turn == null) {
      free++;
    } else {
      turn.completeAsync(() -> null, next);
    }
  }
}
