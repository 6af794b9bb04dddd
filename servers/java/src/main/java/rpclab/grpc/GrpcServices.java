package rpclab.grpc;

import io.grpc.BindableService;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.grpc.server.GlobalServerInterceptor;
import rpclab.Flags;
import rpclab.Health;

/** The gRPC services, for Netty and Tomcat. */
@Configuration(proxyBeanMethods = false)
@Import({Greeter.class, Fibonacci.class, Counter.class, Chain.class, Orders.class, PublishedOrders.class})
public class GrpcServices {
  @Bean
  BindableService healthService(Health health) {
    return health.service();
  }

  @Bean
  @GlobalServerInterceptor
  Identity identity(Flags flags) {
    return new Identity(flags.id);
  }
}
