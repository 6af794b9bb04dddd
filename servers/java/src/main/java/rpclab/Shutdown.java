package rpclab;

import java.io.PrintStream;
import org.springframework.context.ConfigurableApplicationContext;

/** Shuts the server down: health, drain, GOAWAY, exit. */
public final class Shutdown {
  private final Flags flags;
  private final Calls calls;
  private final Health health;
  private final PrintStream responses;
  private volatile boolean closing;

  Shutdown(Flags flags, Calls calls, Health health, PrintStream responses) {
    this.flags = flags;
    this.calls = calls;
    this.health = health;
    this.responses = responses;
  }

  /** Whether connections are being closed. */
  public boolean closing() {
    return closing;
  }

  void of(ConfigurableApplicationContext context) {
    health.stop();
    try {
      Thread.sleep(flags.drain.toMillis());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt(); // never happens
    }
    closing = true;
    context.stop(); // sends GOAWAY, and answers the calls in flight
    if (flags.supervised) {
      responses.println(calls.started());
      responses.flush();
    }
    // Java's own exit code after SIGTERM is 143; the contract asks for 0.
    Runtime.getRuntime().halt(0);
  }
}
