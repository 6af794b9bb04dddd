package rpclab.grpc;

import org.apache.coyote.UpgradeProtocol;
import org.apache.coyote.http2.Http2Protocol;
import org.springframework.boot.tomcat.servlet.TomcatServletWebServerFactory;
import org.springframework.boot.web.server.WebServerFactoryCustomizer;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;

/** gRPC as a servlet: Tomcat speaks HTTP/2, and would do so for browsers. */
@Configuration(proxyBeanMethods = false)
@Import(OverGrpc.class)
public class OnTomcat {
  @Bean
  WebServerFactoryCustomizer<TomcatServletWebServerFactory> forGrpc() {
    return tomcat ->
        tomcat.addConnectorCustomizers(
            connector -> {
              for (UpgradeProtocol protocol : connector.findUpgradeProtocols()) {
                if (protocol instanceof Http2Protocol http2) {
                  // Calls of one connection at once, as many as elsewhere; its own are 100.
                  http2.setMaxConcurrentStreams(Integer.MAX_VALUE);
                  // The small messages of a stream are no attack.
                  http2.setOverheadDataThreshold(0);
                  http2.setOverheadWindowUpdateThreshold(0);
                }
              }
            });
  }
}
