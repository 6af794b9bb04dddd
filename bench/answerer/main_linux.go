// Answerer answers every gRPC call with the same bytes at the least cost we know how, so
// that a benchmark of clients is as little as possible one of the server. It keeps to so much of HTTP/2
// as well-behaved clients with small requests can tell, and is no server to follow.
//
//	answerer -listen 127.0.0.1:50060 -reply hello
package main

import (
	"flag"
	"fmt"
	"log"

	"google.golang.org/protobuf/proto"

	healthv1 "google.golang.org/grpc/health/grpc_health_v1"

	rpclabv1 "rpclab/api/rpclab/v1"
)

func main() {
	log.SetFlags(0)
	listen := flag.String("listen", "127.0.0.1:0", "IPv4 `address` to listen on; it is printed")
	kind := flag.String("reply", "hello", "what to answer with: hello or health")
	flag.Parse()
	message, err := reply(*kind)
	if err != nil {
		log.Fatal(err)
	}
	server, addr, err := listenOn(*listen, message)
	if err != nil {
		log.Fatalf("answerer: listen on %s: %v", *listen, err)
	}
	fmt.Println(addr)
	log.Fatal(server.loop())
}

func reply(kind string) ([]byte, error) {
	switch kind {
	case "hello":
		return proto.Marshal(&rpclabv1.HelloReply{Message: "Hello, rpclab", Backend: "answerer"})
	case "health":
		return proto.Marshal(&healthv1.HealthCheckResponse{Status: healthv1.HealthCheckResponse_SERVING})
	}
	return nil, fmt.Errorf("answerer: no reply is called %q; there are hello and health", kind)
}
