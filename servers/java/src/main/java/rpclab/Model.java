package rpclab;

import java.util.HashMap;
import java.util.Map;
import org.springframework.boot.WebApplicationType;
import rpclab.grpc.OnTomcat;
import rpclab.grpc.OverGrpc;
import rpclab.rest.Blocking;
import rpclab.rest.Reactive;

/** How a server is built: which stack of Spring answers, and with which of our parts. */
public enum Model {
  GRPC_NETTY("grpc-netty", WebApplicationType.NONE, OverGrpc.class),
  GRPC_SERVLET("grpc-servlet", WebApplicationType.SERVLET, OnTomcat.class),
  REST_BLOCKING("rest-blocking", WebApplicationType.SERVLET, Blocking.class),
  REST_VIRTUAL("rest-virtual", WebApplicationType.SERVLET, Blocking.class),
  REST_WEBFLUX("rest-webflux", WebApplicationType.REACTIVE, Reactive.class);

  private static final int LARGEST_BODY = 16 << 20; // an order of the most articles
  private static final int QUEUE = 4096; // of connections that nobody took yet

  private final String name;
  final WebApplicationType web;
  final Class<?> parts;

  Model(String name, WebApplicationType web, Class<?> parts) {
    this.name = name;
    this.web = web;
    this.parts = parts;
  }

  /** How many calls {@link Calls} lets in at once; 0: all. Tomcat's threads are room enough. */
  int room(Flags flags) {
    return this == REST_BLOCKING ? 0 : flags.workers;
  }

  /** What is set of Spring's properties; the rest is as Spring has it. */
  Map<String, Object> properties(Flags flags) {
    Map<String, Object> set = new HashMap<>();
    set.put("logging.level.root", "warn");
    // Lookups by name would delay the start: the address is passed as it was resolved.
    set.put("server.address", flags.listen.getAddress());
    set.put("server.port", flags.listen.getPort());
    set.put("spring.grpc.server.address", flags.listen.getAddress());
    set.put("spring.grpc.server.port", flags.listen.getPort());
    // Every call that a server has is answered, however long that takes.
    set.put("spring.lifecycle.timeout-per-shutdown-phase", "24h");
    set.put("spring.grpc.server.shutdown.grace-period", "-1s");
    set.put("spring.reactor.netty.shutdown-quiet-period", "0s");
    set.put("spring.grpc.server.health.enabled", false); // ours takes orders
    set.put("spring.grpc.server.servlet.enabled", this == GRPC_SERVLET);
    set.put("server.http2.enabled", this == GRPC_SERVLET);
    set.put("spring.threads.virtual.enabled", this == REST_VIRTUAL);
    // Thousands of users connect at once: with Tomcat's own 100 and 8192 it is the stacks'
    // queues that would be compared. Netty's are as long as the system allows.
    set.put("server.tomcat.accept-count", QUEUE);
    set.put("server.tomcat.max-connections", Integer.MAX_VALUE);
    if (this == REST_BLOCKING && flags.workers > 0) {
      set.put("server.tomcat.threads.max", flags.workers);
      set.put("server.tomcat.threads.min-spare", Math.min(flags.workers, 10));
    }
    set.put("spring.http.codecs.max-in-memory-size", LARGEST_BODY + "B");
    set.put("spring.jackson.factory.constraints.read.max-document-length", LARGEST_BODY);
    set.put("spring.jackson.property-naming-strategy", "SNAKE_CASE");
    set.put("spring.jackson.deserialization.fail-on-unknown-properties", true);
    set.put("spring.jackson.deserialization.fail-on-null-for-primitives", false);
    set.put("spring.jackson.deserialization.accept-float-as-int", false);
    set.put("spring.jackson.mapper.allow-coercion-of-scalars", false);
    return set;
  }

  @Override
  public String toString() {
    return name;
  }
}
