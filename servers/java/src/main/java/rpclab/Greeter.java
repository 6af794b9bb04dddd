package rpclab;

import io.grpc.Server;
import io.grpc.health.v1.HealthCheckResponse.ServingStatus;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import io.grpc.protobuf.services.HealthStatusManager;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.concurrent.Callable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** The greeter under test, in Java with grpc-java on Netty. servers/CONTRACT.md says what it owes. */
@Command(
    name = "greeter",
    mixinStandardHelpOptions = true,
    description = "Serves rpclab.v1.Greeter with gRPC health until it is told to stop; then it drains.")
public final class Greeter implements Callable<Integer> {
  @Option(names = "--listen", defaultValue = "127.0.0.1:50051", description = "address to listen on")
  private InetSocketAddress listen;

  @Option(names = "--id", defaultValue = "server", description = "identity that every answer carries")
  private String id;

  @Option(names = "--delay", defaultValue = "0s", description = "wait before every answer")
  private Duration delay;

  @Option(names = "--drain", defaultValue = "0s", description = "how long it still accepts calls once told to stop")
  private Duration drain;

  public static void main(String[] args) {
    int code =
        new CommandLine(new Greeter())
            .registerConverter(Duration.class, Flags::duration)
            .registerConverter(InetSocketAddress.class, Flags::address)
            .execute(args);
    System.exit(code);
  }

  @Override
  public Integer call() throws IOException, InterruptedException {
    HealthStatusManager health = new HealthStatusManager();
    Server server =
        NettyServerBuilder.forAddress(listen)
            .intercept(new Identity(id))
            .addService(new Hello(id, delay))
            .addService(health.getHealthService())
            .build();
    // The hook stands before the port opens: who can connect can also stop it.
    Runtime.getRuntime().addShutdownHook(new Thread(() -> drain(server, health)));
    server.start();
    server.awaitTermination();
    // The hook ends the process; a return would have two threads exit at once.
    Thread.currentThread().join();
    return 0;
  }

  private void drain(Server server, HealthStatusManager health) {
    try {
      health.setStatus(HealthStatusManager.SERVICE_NAME_ALL_SERVICES, ServingStatus.NOT_SERVING);
      Thread.sleep(drain.toMillis());
      server.shutdown().awaitTermination();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    // Java's own exit code after SIGTERM is 143; one that drained has done as it was told.
    Runtime.getRuntime().halt(0);
  }
}
