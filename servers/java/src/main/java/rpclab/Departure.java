package rpclab;

import java.io.PrintStream;
import org.springframework.context.ConfigurableApplicationContext;

/** How a server goes when it is told to. */
final class Departure {
  private Departure() {}

  static void of(
      ConfigurableApplicationContext context,
      Flags flags,
      Calls calls,
      Health health,
      PrintStream answers) {
    health.go();
    try {
      Thread.sleep(flags.drain.toMillis());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt(); // nobody does that
    }
    context.stop(); // which tells clients to go, and answers the calls that it has
    if (flags.supervised) {
      answers.println(calls.begun());
      answers.flush();
    }
    // Java's own exit code after SIGTERM is 143; one that drained has done as it was told.
    Runtime.getRuntime().halt(0);
  }
}
