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

/** gRPC as a servlet: Tomcat speaks HTTP/2, and would do so for browsers. */
@Configuration(proxyBeanMethods = false)
@Import(OverGrpc.class)
public class OnTomcat {
  private static final Executor AFTERWARDS =
      CompletableFuture.delayedExecutor(50, TimeUnit.MILLISECONDS);

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

  /**
   * Sends headers before the trailers of an error. Tomcat ends an answer of headers alone by a
   * frame of its own, which gRPC forbids.
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
              private boolean begun;

              @Override
              public void sendHeaders(Metadata headers) {
                begun = true;
                super.sendHeaders(headers);
              }

              @Override
              public void close(Status status, Metadata trailers) {
                if (!begun && !isCancelled()) {
                  super.sendHeaders(new Metadata());
                }
                if (status.isOk() || getMethodDescriptor().getType().clientSendsOneMessage()) {
                  super.close(status, trailers);
                } else {
                  // The servlet transport completes the answer in the thread that closes the call
                  // (AsyncServletOutputStreamWriter.complete, AsyncContext.complete), while
                  // Tomcat's may still be in onDataAvailable, handing over the message that is
                  // refused. It looks as if Tomcat then loses the trailers; the transport gives no
                  // sign of when its thread is back, so this waits.
                  AFTERWARDS.execute(() -> super.close(status, trailers));
                }
              }
            },
            of);
      }
    };
  }
}
