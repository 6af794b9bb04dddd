package rpclab;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.DeserializationFeature;
import tools.jackson.databind.json.JsonMapper;

/** Does what a supervisor writes on standard input, and ends the process when it is gone. */
final class Supervisor implements Runnable {
  private static final Logger LOG = LoggerFactory.getLogger(Supervisor.class);
  private static final int GONE = 3;

  private static final JsonMapper JSON =
      JsonMapper.builder()
          .disable(DeserializationFeature.FAIL_ON_NULL_FOR_PRIMITIVES)
          .enable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES)
          .build();

  private final Calls calls;
  private final Health health;
  private final PrintStream answers;

  /** A line of JSON; one of its fields is set. */
  private record Order(Ailment ail, boolean count) {}

  Supervisor(Calls calls, Health health, PrintStream answers) {
    this.calls = calls;
    this.health = health;
    this.answers = answers;
  }

  @Override
  public void run() {
    try (var lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        obey(line);
      }
    } catch (IOException e) {
      LOG.error("standard input: {}", e.getMessage());
    }
    Runtime.getRuntime().halt(GONE);
  }

  private void obey(String line) {
    try {
      Order order = JSON.readValue(line, Order.class);
      if (order.ail != null) {
        calls.suffer(order.ail);
        health.flap(order.ail.flap());
      }
      if (order.count) {
        answers.println(calls.begun());
        answers.flush();
      }
    } catch (JacksonException e) {
      LOG.error("an order that no server knows: {}: {}", line, e.getOriginalMessage());
    }
  }
}
