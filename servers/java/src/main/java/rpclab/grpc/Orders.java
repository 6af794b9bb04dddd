package rpclab.grpc;

import io.grpc.stub.StreamObserver;
import rpclab.Calls;
import rpclab.Flags;
import rpclab.Workloads;
import rpclab.v1.OrderOuterClass.Article;
import rpclab.v1.OrderOuterClass.Order;
import rpclab.v1.OrderOuterClass.OrderReply;
import rpclab.v1.OrderServiceGrpc;

final class Orders extends OrderServiceGrpc.OrderServiceImplBase {
  private final Calls calls;
  private final Flags flags;

  Orders(Calls calls, Flags flags) {
    this.calls = calls;
    this.flags = flags;
  }

  @Override
  public void placeOrder(Order order, StreamObserver<OrderReply> to) {
    Responses.one(
        calls.respondLater(
            Workloads.orderNanos(flags),
            () ->
                OrderReply.newBuilder()
                    .setId(Workloads.order(order.getArticlesList(), Article::getQuantity))
                    .build()),
        to);
  }
}
