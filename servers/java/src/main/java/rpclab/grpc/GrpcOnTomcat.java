package rpclab.grpc;

import io.grpc.ForwardingServerCall.SimpleForwardingServerCall;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.Status;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import org.apache.coyote.UpgradeProtocol;
import org.apache.coyote.http2.Http2Protocol;
import org.springframework.boot.tomcat.servlet.TomcatServletWebServerFactory;
import org.springframework.boot.web.server.WebServerFactoryCustomizer;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.grpc.server.GlobalServerInterceptor;

/** gRPC as a servlet on Tomcat over HTTP/2. */
@Configuration(proxyBeanMethods = false)
@Import(GrpcServices.class)
public class GrpcOnTomcat {
  private static final Executor DELAYED =
      CompletableFuture.delayedExecutor(50, TimeUnit.MILLISECONDS);

  @Bean
  WebServerFactoryCustomizer<TomcatServletWebServerFactory> forGrpc() {
    return tomcat ->
        tomcat.addConnectorCustomizers(
            connector -> {
              for (UpgradeProtocol protocol : connector.findUpgradeProtocols()) {
                if (protocol instanceof Http2Protocol http2) {
                  // No limit of streams a connection, as in the other models; the default is 100.
                  http2.setMaxConcurrentStreams(Integer.MAX_VALUE);
                  // Many small messages on a stream are not an attack.
                  http2.setOverheadDataThreshold(0);
                  http2.setOverheadWindowUpdateThreshold(0);
                  // Nor are many calls whose client gives up.
                  http2.setOverheadResetFactor(0);
                }
              }
            });
  }

  /**
   * Sends headers before the trailers of an error. Tomcat ends a response that has only headers
   * with an extra frame, which gRPC forbids.
   */
  @Bean
  @GlobalServerInterceptor
  ServerInterceptor headersFirst() {
    return new ServerInterceptor() {
      @Override
      public <Q, A> ServerCall.Listener<Q> interceptCall(
          ServerCall<Q, A> call, Metadata of, ServerCallHandler<Q, A> next) {
        return next.startCall(
            new SimpleForwardingServerCall<>(call) {
              private boolean started;

              @Override
              public void sendHeaders(Metadata headers) {
                started = true;
                super.sendHeaders(headers);
              }

              @Override
              public void close(Status status, Metadata trailers) {
                if (!started && !isCancelled()) {
                  super.sendHeaders(new Metadata());
                }
                if (status.isOk() || getMethodDescriptor().getType().clientSendsOneMessage()) {
                  super.close(status, trailers);
                } else {
                  // The servlet transport completes the response in the closing thread, while a thread
                  // of Tomcat may still deliver the rejected message in onDataAvailable. Tomcat then
                  // seems to lose the trailers. The transport does not report when Tomcat's thread
                  // has finished, so the close is delayed.
                  DELAYED.execute(() -> super.close(status, trailers));
                }
              }
            },
            of);
      }
    };
  }
}
