package rpclab.rest;

import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.http.HttpHeaders;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.server.WebFilter;
import reactor.core.publisher.Mono;
import rpclab.Calls;
import rpclab.Shutdown;
import rpclab.Flags;
import rpclab.Workloads;
import rpclab.rest.Messages.FibonacciReply;
import rpclab.rest.Messages.FibonacciRequest;
import rpclab.rest.Messages.HelloReply;
import rpclab.rest.Messages.HelloRequest;
import rpclab.rest.Messages.Number;
import rpclab.rest.Messages.Order;
import rpclab.rest.Messages.OrderReply;

/** REST on Netty: a few threads serve all calls without blocking. */
@Configuration(proxyBeanMethods = false)
@Import({RestOnWebFlux.Paths.class, HealthEndpoint.class, JsonConfig.class, Errors.class})
public class RestOnWebFlux {
  @Bean
  WebFilter headers(Flags flags, Shutdown shutdown) {
    return (exchange, next) -> {
      HttpHeaders headers = exchange.getResponse().getHeaders();
      headers.set(JsonConfig.IDENTITY, flags.id);
      exchange
          .getResponse()
          .beforeCommit(
              () -> {
                if (shutdown.closing()) {
                  headers.setConnection("close");
                }
                return Mono.empty();
              });
      return next.filter(exchange);
    };
  }

  @RestController
  static class Paths {
    private final Calls calls;
    private final Flags flags;

    Paths(Calls calls, Flags flags) {
      this.calls = calls;
      this.flags = flags;
    }

    @PostMapping("/greet")
    Mono<HelloReply> greet(@RequestBody HelloRequest request) {
      return Mono.fromFuture(
          calls.respondLater(
              flags.delay.toNanos(),
              () -> new HelloReply(Workloads.greeting(request.name()), flags.id)));
    }

    @PostMapping("/fibonacci")
    Mono<FibonacciReply> fibonacci(@RequestBody FibonacciRequest request) {
      return Mono.fromFuture(
          calls.respondLater(
              0, () -> new FibonacciReply(Workloads.fibonacci(request.n()), flags.id)));
    }

    @PostMapping("/increase")
    Mono<Number> increase(@RequestBody Number number) {
      return Mono.fromFuture(
          calls.respondLater(0, () -> new Number(Workloads.increase(number.value()))));
    }

    @PostMapping("/orders")
    Mono<OrderReply> order(@RequestBody Order order) {
      return Mono.fromFuture(
          calls.respondLater(
              Workloads.orderNanos(flags),
              () -> new OrderReply(Workloads.order(order.articles(), Order::quantity), flags)));
    }
  }
}
