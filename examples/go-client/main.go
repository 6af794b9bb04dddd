// Command go-client calls rpclab's greeter as its owner would: with the owner's own balancing and retries.
package main

import (
	"context"
	"log"

	"google.golang.org/grpc"

	rpclabv1 "rpclab/api/rpclab/v1"
	"rpclab/client"
)

const settings = `{"loadBalancingConfig": [{"round_robin": {}}], "methodConfig": [{"name": [{}], "retryPolicy":
	{"maxAttempts": 4, "initialBackoff": "0.005s", "maxBackoff": "0.005s", "backoffMultiplier": 1, "retryableStatusCodes": ["UNAVAILABLE"]}}]}`

func sayHello(ctx context.Context, greeter rpclabv1.GreeterClient, _ uint64) error {
	reply, err := greeter.SayHello(ctx, &rpclabv1.HelloRequest{Name: "you"})
	client.AnsweredBy(ctx, reply.GetBackend())
	return err
}

func main() {
	if err := client.RunGRPC(rpclabv1.NewGreeterClient, sayHello, grpc.WithDefaultServiceConfig(settings)); err != nil {
		log.Fatal(err)
	}
}
