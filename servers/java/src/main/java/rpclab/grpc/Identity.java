package rpclab.grpc;

import io.grpc.ForwardingServerCall.SimpleForwardingServerCall;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.Status;

/**
 * Adds the backend identity to the trailers of every response, and compresses the messages of
 * calls whose requests are compressed.
 */
final class Identity implements ServerInterceptor {
  private static final Metadata.Key<String> KEY =
      Metadata.Key.of("rpclab-backend", Metadata.ASCII_STRING_MARSHALLER);

  private static final Metadata.Key<String> ENCODING =
      Metadata.Key.of("grpc-encoding", Metadata.ASCII_STRING_MARSHALLER);

  private final String id;

  Identity(String id) {
    this.id = id;
  }

  @Override
  public <Q, A> ServerCall.Listener<Q> interceptCall(
      ServerCall<Q, A> call, Metadata headers, ServerCallHandler<Q, A> next) {
    if ("gzip".equals(headers.get(ENCODING))) {
      call.setCompression("gzip");
    }
    return next.startCall(
        new SimpleForwardingServerCall<>(call) {
          @Override
          public void sendHeaders(Metadata headers) {
            // A stream sends the identity in the header too, before its messages.
            if (!getMethodDescriptor().getType().serverSendsOneMessage()) {
              headers.put(KEY, id);
            }
            super.sendHeaders(headers);
          }

          @Override
          public void close(Status status, Metadata trailers) {
            trailers.put(KEY, id);
            super.close(status, trailers);
          }
        },
        headers);
  }
}
