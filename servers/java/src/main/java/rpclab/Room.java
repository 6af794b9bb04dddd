package rpclab;

import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.Executors;

/** Room for so many calls at once. Others queue in their order, and no thread waits with them. */
final class Room {
  private final Queue<CompletableFuture<Void>> queue = new ArrayDeque<>();
  // Who leaves does not do the work of the next one, which might go on so for ever.
  private final Executor next =
      Executors.newCachedThreadPool(
          work -> {
            Thread thread = new Thread(work, "worker");
            thread.setDaemon(true);
            return thread;
          });
  private int free;

  Room(int workers) {
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
