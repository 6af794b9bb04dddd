package rpclab;

import io.grpc.BindableService;
import io.grpc.health.v1.HealthCheckResponse.ServingStatus;
import io.grpc.protobuf.services.HealthStatusManager;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

/** Whether the server serves, as gRPC's health service and /healthz say it. */
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
  private boolean going;
  private long every; // ns; 0: it does not flap
  private Future<?> flaps;

  public boolean serving() {
    return serving;
  }

  public BindableService service() {
    return manager.getHealthService();
  }

  /** Turns it every so many nanoseconds; 0: it serves. One that flaps so goes on as it does. */
  synchronized void flap(long every) {
    if (every == this.every) {
      return;
    }
    if (flaps != null) {
      flaps.cancel(false);
    }
    this.every = every;
    say(true);
    if (every > 0) {
      flaps = turns.scheduleAtFixedRate(() -> turn(every), 0, every, TimeUnit.NANOSECONDS);
    }
  }

  /** It does not serve from now on, whatever it is told. */
  synchronized void go() {
    say(false);
    going = true;
  }

  private synchronized void turn(long every) {
    if (every == this.every) { // else this one came too late
      say(!serving);
    }
  }

  private void say(boolean serving) {
    if (going) {
      return;
    }
    this.serving = serving;
    manager.setStatus(
        HealthStatusManager.SERVICE_NAME_ALL_SERVICES,
        serving ? ServingStatus.SERVING : ServingStatus.NOT_SERVING);
  }
}
