package rpclab.grpc;

import io.grpc.stub.StreamObserver;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import rpclab.Calls;
import rpclab.Flags;
import rpclab.Workloads;
import rpclab.studies.ladder.Ladder.OrderRequest;
import rpclab.studies.ladder.Ladder.OrderResponse;
import rpclab.studies.ladder.Ladder.OrderedArticle;
import rpclab.studies.ladder.OrderServiceGrpc;

/** The OrderService of the published ladder study, with --published. */
@ConditionalOnProperty("rpclab.published")
final class PublishedOrders extends OrderServiceGrpc.OrderServiceImplBase {
  private final Calls calls;
  private final Flags flags;

  PublishedOrders(Calls calls, Flags flags) {
    this.calls = calls;
    this.flags = flags;
  }

  @Override
  public void placeOrder(OrderRequest order, StreamObserver<OrderResponse> to) {
    Responses.one(
        calls.respondLater(
            Workloads.orderNanos(flags),
            () ->
                OrderResponse.newBuilder()
                    .setId(
                        Workloads.order(order.getArticlesList(), OrderedArticle::getQuantity))
                    .build()),
        to);
  }
}
