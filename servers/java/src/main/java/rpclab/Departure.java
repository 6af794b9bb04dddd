package rpclab;

import java.io.PrintStream;
import org.springframework.context.ConfigurableApplicationContext;

/** How a server goes when it is told to. */
public final class Departure {
  private final Flags flags;
  private final Calls calls;
  private final Health health;
  private final PrintStream answers;
  private volatile boolean closing;

  Departure(Flags flags, Calls calls, Health health, PrintStream answers) {
    this.flags = flags;
    this.calls = calls;
    this.health = health;
    this.answers = answers;
  }

  /** No further call is to come on the connections that there are. */
  public boolean closing() {
    return closing;
  }

  void of(ConfigurableApplicationContext context) {
    health.go();
    try {
      Thread.sleep(flags.drain.toMillis());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt(); // nobody does that
    }
    closing = true;
    context.stop(); // which tells clients of HTTP/2 to go, and answers the calls that it has
    if (flags.supervised) {
      answers.println(calls.begun());
      answers.flush();
    }
    // Java's own exit code after SIGTERM is 143; one that drained has done as it was told.
    Runtime.getRuntime().halt(0);
  }
}
