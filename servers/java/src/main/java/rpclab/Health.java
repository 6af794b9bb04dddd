package rpclab;

import io.grpc.BindableService;
import io.grpc.health.v1.HealthCheckResponse.ServingStatus;
import io.grpc.protobuf.services.HealthStatusManager;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

/** The server's health, for gRPC's health service and /healthz. */
public final class Health {
  private final HealthStatusManager manager = new HealthStatusManager();
  private final ScheduledExecutorService turns =
      Executors.newSingleThreadScheduledExecutor(
          work -> {
            Thread thread = new Thread(work, "health");
            thread.setDaemon(true);
            return thread;
          });
  private volatile boolean serving = true;
  private boolean stopping;
  private long every; // ns; 0: health does not change
  private Future<?> flaps;

  public boolean serving() {
    return serving;
  }

  public BindableService service() {
    return manager.getHealthService();
  }

  /** Changes health at an interval; 0: serving. The same interval again changes nothing. */
  synchronized void flap(long every) {
    if (every == this.every) {
      return;
    }
    if (flaps != null) {
      flaps.cancel(false);
    }
    this.every = every;
    set(true);
    if (every > 0) {
      flaps = turns.scheduleAtFixedRate(() -> turn(every), 0, every, TimeUnit.NANOSECONDS);
    }
  }

  /** Reports NOT_SERVING from now on. */
  synchronized void stop() {
    set(false);
    stopping = true;
  }

  private synchronized void turn(long every) {
    if (every == this.every) { // a later flap replaced this one
      set(!serving);
    }
  }

  private void set(boolean serving) {
    if (stopping) {
      return;
    }
    this.serving = serving;
    manager.setStatus(
        HealthStatusManager.SERVICE_NAME_ALL_SERVICES,
        serving ? ServingStatus.SERVING : ServingStatus.NOT_SERVING);
  }
}
