package rpclab;

import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import picocli.CommandLine.TypeConversionException;

/** Reads the values of flags in the form that Go gives them. */
final class Flags {
  private static final Pattern PART = Pattern.compile("(\\d+(?:\\.\\d*)?|\\.\\d+)(ns|us|µs|ms|s|m|h)");
  private static final Map<String, Double> NANOS =
      Map.of("ns", 1., "us", 1e3, "µs", 1e3, "ms", 1e6, "s", 1e9, "m", 60e9, "h", 3600e9);

  private Flags() {}

  /** A sum of numbers with units (500ms, 1.5s, 1m0s), or a bare 0. */
  static Duration duration(String text) {
    if (text.equals("0")) {
      return Duration.ZERO;
    }
    double nanos = 0;
    int end = 0;
    Matcher part = PART.matcher(text);
    while (part.find(end) && part.start() == end) {
      nanos += Double.parseDouble(part.group(1)) * NANOS.get(part.group(2));
      end = part.end();
      if (end == text.length()) {
        return Duration.ofNanos(Math.round(nanos));
      }
    }
    throw new TypeConversionException(
        "'" + text + "' is not a duration; write one such as 500ms or 1.5s");
  }

  /** host:port. */
  static InetSocketAddress address(String text) {
    int colon = text.lastIndexOf(':');
    try {
      return new InetSocketAddress(text.substring(0, colon), Integer.parseInt(text.substring(colon + 1)));
    } catch (IndexOutOfBoundsException | IllegalArgumentException e) {
      throw new TypeConversionException("'" + text + "' is not host:port, such as 127.0.0.1:50051");
    }
  }
}
