package rpclab;

import java.util.HashMap;
import java.util.Map;
import org.springframework.boot.WebApplicationType;
import rpclab.grpc.GrpcOnTomcat;
import rpclab.grpc.GrpcServices;
import rpclab.rest.RestOnTomcat;
import rpclab.rest.RestOnWebFlux;

/** The stacks that answer calls, each with its Spring configuration class. */
public enum Model {
  GRPC_NETTY("grpc-netty", WebApplicationType.NONE, GrpcServices.class),
  GRPC_SERVLET("grpc-servlet", WebApplicationType.SERVLET, GrpcOnTomcat.class),
  REST_BLOCKING("rest-blocking", WebApplicationType.SERVLET, RestOnTomcat.class),
  REST_VIRTUAL("rest-virtual", WebApplicationType.SERVLET, RestOnTomcat.class),
  REST_WEBFLUX("rest-webflux", WebApplicationType.REACTIVE, RestOnWebFlux.class);

  private static final int LARGEST_BODY = 16 << 20; // bytes: the largest order
  private static final int QUEUE = 4096; // connections not yet accepted

  private final String name;
  final WebApplicationType web;
  final Class<?> parts;

  Model(String name, WebApplicationType web, Class<?> parts) {
    this.name = name;
    this.web = web;
    this.parts = parts;
  }

  /** How many calls {@link Calls} runs at once; 0: all. Tomcat limits its threads itself. */
  int workers(Flags flags) {
    return this == REST_BLOCKING ? 0 : flags.workers;
  }

  /** The properties that differ from Spring's defaults. */
  Map<String, Object> properties(Flags flags) {
    Map<String, Object> set = new HashMap<>();
    set.put("logging.level.root", "warn");
    set.put("rpclab.published", flags.published);
    // The resolved address avoids a name lookup at start.
    set.put("server.address", flags.listen.getAddress());
    set.put("server.port", flags.listen.getPort());
    set.put("spring.grpc.server.address", flags.listen.getAddress());
    set.put("spring.grpc.server.port", flags.listen.getPort());
    // Shutdown waits for every call in flight.
    set.put("spring.lifecycle.timeout-per-shutdown-phase", "24h");
    set.put("spring.grpc.server.shutdown.grace-period", "-1s");
    set.put("spring.reactor.netty.shutdown-quiet-period", "0s");
    set.put("spring.grpc.server.health.enabled", false); // Health replaces it
    set.put("spring.grpc.server.servlet.enabled", this == GRPC_SERVLET);
    set.put("server.http2.enabled", this == GRPC_SERVLET);
    set.put("spring.threads.virtual.enabled", this == REST_VIRTUAL);
    // Thousands of users connect at once. Tomcat's defaults (100 and 8192) would compare queue
    // lengths; Netty's queue is as long as the system allows.
    set.put("server.tomcat.accept-count", QUEUE);
    set.put("server.tomcat.max-connections", Integer.MAX_VALUE);
    // The client decides how long a connection lasts. Tomcat would close it after 100 requests or
    // 60 s without one.
    set.put("server.tomcat.max-keep-alive-requests", -1);
    set.put("server.tomcat.keep-alive-timeout", "-1");
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
