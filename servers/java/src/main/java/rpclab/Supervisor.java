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

/** Executes commands from standard input. Exits the process when the input ends. */
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
  private final PrintStream responses;

  /** A line of JSON; one of its fields is set. */
  private record Command(Fault fault, boolean count) {}

  Supervisor(Calls calls, Health health, PrintStream responses) {
    this.calls = calls;
    this.health = health;
    this.responses = responses;
  }

  @Override
  public void run() {
    try (var lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        execute(line);
      }
    } catch (IOException e) {
      LOG.error("standard input: {}", e.getMessage());
    }
    Runtime.getRuntime().halt(GONE);
  }

  private void execute(String line) {
    try {
      Command command = JSON.readValue(line, Command.class);
      if (command.fault != null) {
        calls.inject(command.fault);
        health.flap(command.fault.flap());
      }
      if (command.count) {
        responses.println(calls.started());
        responses.flush();
      }
    } catch (JacksonException e) {
      LOG.error("unknown command: {}: {}", line, e.getOriginalMessage());
    }
  }
}
