// Command go-client calls rpclab's greeter as its owner would: with retries of its own, after 5 ms.
package main

import (
	"context"
	"log"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	rpclabv1 "rpclab/api/rpclab/v1"
	"rpclab/client"
)

func main() {
	err := client.RunGRPC(func(channel *grpc.ClientConn) client.Func {
		greeter := rpclabv1.NewGreeterClient(channel)
		return func(ctx context.Context, _ uint64) error {
			reply, err := greeter.SayHello(ctx, &rpclabv1.HelloRequest{Name: "you"})
			client.AnsweredBy(ctx, reply.GetBackend())
			return err
		}
	}, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithUnaryInterceptor(retry),
		grpc.WithDefaultServiceConfig(`{"loadBalancingConfig": [{"round_robin": {}}]}`))
	if err != nil {
		log.Fatal(err)
	}
}

func retry(ctx context.Context, method string, request, reply any, channel *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption) (err error) {
	for range 3 {
		if err = invoke(ctx, method, request, reply, channel, options...); err == nil {
			return nil
		}
		time.Sleep(5 * time.Millisecond)
	}
	return err
}
