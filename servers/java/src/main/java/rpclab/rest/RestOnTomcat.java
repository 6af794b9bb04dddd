package rpclab.rest;

import jakarta.servlet.Filter;
import jakarta.servlet.http.HttpServletResponse;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.core.MethodParameter;
import org.springframework.http.MediaType;
import org.springframework.http.converter.HttpMessageConverter;
import org.springframework.http.server.ServerHttpRequest;
import org.springframework.http.server.ServerHttpResponse;
import org.springframework.web.bind.annotation.ControllerAdvice;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.servlet.mvc.method.annotation.ResponseBodyAdvice;
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

/** REST on Tomcat: one platform or virtual thread for each call. */
@Configuration(proxyBeanMethods = false)
@Import({RestOnTomcat.Paths.class, RestOnTomcat.CloseConnections.class, HealthEndpoint.class, JsonConfig.class, Errors.class})
public class RestOnTomcat {
  @Bean
  Filter identity(Flags flags) {
    return (request, response, next) -> {
      ((HttpServletResponse) response).setHeader(JsonConfig.IDENTITY, flags.id);
      next.doFilter(request, response);
      // Tomcat would send a short response after the servlet has returned. Spring counts the call
      // as answered by then, so a shutdown could close the connection first.
      response.getOutputStream().close();
    };
  }

  /** Adds "Connection: close" to responses during shutdown. */
  @ControllerAdvice
  static class CloseConnections implements ResponseBodyAdvice<Object> {
    private final Shutdown shutdown;

    CloseConnections(Shutdown shutdown) {
      this.shutdown = shutdown;
    }

    @Override
    public boolean supports(
        MethodParameter of, Class<? extends HttpMessageConverter<?>> converter) {
      return shutdown.closing();
    }

    @Override
    public Object beforeBodyWrite(
        Object body,
        MethodParameter of,
        MediaType type,
        Class<? extends HttpMessageConverter<?>> converter,
        ServerHttpRequest request,
        ServerHttpResponse response) {
      response.getHeaders().setConnection("close");
      return body;
    }
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
    HelloReply greet(@RequestBody HelloRequest request) {
      return calls.respond(
          flags.delay.toNanos(),
          () -> new HelloReply(Workloads.greeting(request.name()), flags.id));
    }

    @PostMapping("/fibonacci")
    FibonacciReply fibonacci(@RequestBody FibonacciRequest request) {
      return calls.respond(0, () -> new FibonacciReply(Workloads.fibonacci(request.n()), flags.id));
    }

    @PostMapping("/increase")
    Number increase(@RequestBody Number number) {
      return calls.respond(0, () -> new Number(Workloads.increase(number.value())));
    }

    @PostMapping("/orders")
    OrderReply order(@RequestBody Order order) {
      return calls.respond(
          Workloads.orderNanos(flags),
          () -> new OrderReply(Workloads.order(order.articles(), Order::quantity), flags));
    }
  }
}
