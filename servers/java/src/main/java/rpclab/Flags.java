package rpclab;

import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.TypeConversionException;

/** The flags of a server. Values have Go's form. */
@Command(
    name = "server",
    mixinStandardHelpOptions = true,
    showDefaultValues = true,
    description = "Serves the workloads of rpclab until SIGTERM; then it drains.")
public final class Flags {
  @Option(
      names = "--listen",
      defaultValue = "127.0.0.1:50051",
      description = "address to listen on")
  public InetSocketAddress listen;

  @Option(names = "--public", description = "serve clients of other machines")
  public boolean anyone;

  @Option(names = "--model", defaultValue = "grpc-netty", description = "${COMPLETION-CANDIDATES}")
  public Model model;

  @Option(names = "--id", defaultValue = "server", description = "identity of every response")
  public String id;

  @Option(names = "--delay", defaultValue = "0s", description = "wait before greet and orders")
  public Duration delay;

  @Option(
      names = "--spread",
      defaultValue = "0s",
      description = "random additional wait of orders, up to this")
  public Duration spread;

  @Option(names = "--workers", description = "calls processed at once, while others queue")
  public int workers; // 0: the model's default

  @Option(
      names = "--drain",
      defaultValue = "0s",
      description = "how long to accept calls after SIGTERM")
  public Duration drain;

  @Option(
      names = "--published",
      description = "answer the messages of the published ladder study too")
  public boolean published;

  @Option(names = "--supervised", description = "read commands on standard input")
  public boolean supervised;

  private static final Pattern PART =
      Pattern.compile("(\\d+(?:\\.\\d*)?|\\.\\d+)(ns|us|µs|ms|s|m|h)");
  private static final Map<String, Double> NANOS =
      Map.of("ns", 1., "us", 1e3, "µs", 1e3, "ms", 1e6, "s", 1e9, "m", 60e9, "h", 3600e9);

  private Flags() {}

  /** Parses the flags. Exits when they are wrong or ask for help. */
  static Flags parse(String... args) {
    Flags flags = new Flags();
    CommandLine line =
        new CommandLine(flags)
            .setOverwrittenOptionsAllowed(true) // the last value counts
            .registerConverter(Duration.class, Flags::duration)
            .registerConverter(InetSocketAddress.class, Flags::address);
    try {
      if (CommandLine.printHelpIfRequested(line.parseArgs(args))) {
        System.exit(0);
      }
      if (flags.workers < 0) {
        throw new ParameterException(line, "--workers " + flags.workers + ": must be at least 1");
      }
      if (!flags.anyone && !flags.supervised && !flags.listen.getAddress().isLoopbackAddress()) {
        throw new ParameterException(
            line,
            "--listen "
                + flags.listen.getHostString()
                + ":"
                + flags.listen.getPort()
                + ": other machines could send requests: allow them with --public, or listen on"
                + " 127.0.0.1");
      }
    } catch (ParameterException e) {
      System.err.println(e.getMessage());
      System.exit(2);
    }
    return flags;
  }

  /** A sum of numbers with units (500ms, 1.5s, 1m0s), or a bare 0. */
  private static Duration duration(String text) {
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
        "'" + text + "' is not a duration: use one such as 500ms or 1.5s");
  }

  /** HOST:PORT. */
  private static InetSocketAddress address(String text) {
    int colon = text.lastIndexOf(':');
    InetSocketAddress address;
    try {
      int port = Integer.parseInt(text.substring(colon + 1));
      address =
          colon == 0
              ? new InetSocketAddress(port)
              : new InetSocketAddress(text.substring(0, colon), port);
    } catch (IndexOutOfBoundsException | IllegalArgumentException e) {
      throw new TypeConversionException("'" + text + "' is not an address: use HOST:PORT");
    }
    if (address.isUnresolved()) { // Spring would listen on all addresses
      throw new TypeConversionException("'" + text + "' has an unknown host: use another name");
    }
    return address;
  }
}
