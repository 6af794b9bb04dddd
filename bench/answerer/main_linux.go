// Command answerer answers every call with the same bytes at the least cost, so that a benchmark
// measures the clients and not the server. It implements only what correct clients with small
// requests need of HTTP/2 and HTTP/1.1: it is not an example of a server.
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
	listen := flag.String("listen", "127.0.0.1:0", "IPv4 `address` to listen on; answerer prints it")
	kind := flag.String("reply", "hello", "the answer: hello or health (gRPC), or http (HTTP/1.1)")
	count := flag.Bool("count", false, "print the number of connections and their calls when the last connection ends")
	flag.Parse()
	answers, err := replies(*kind)
	if err != nil {
		log.Fatal(err)
	}
	server, addr, err := listenOn(*listen, answers)
	if err != nil {
		log.Fatalf("answerer: listen on %s: %v", *listen, err)
	}
	server.count = *count
	fmt.Println(addr)
	log.Fatal(server.loop())
}

func replies(kind string) (answers, error) {
	var message []byte
	var err error
	switch kind {
	case "hello":
		message, err = proto.Marshal(&rpclabv1.HelloReply{Message: "Hello, rpclab", Backend: "answerer"})
	case "health":
		message, err = proto.Marshal(&healthv1.HealthCheckResponse{Status: healthv1.HealthCheckResponse_SERVING})
	case "http":
		return plainAnswers(), nil
	default:
		return answers{}, fmt.Errorf("answerer: no reply %q; known names: hello, health, http", kind)
	}
	return newAnswers(message), err
}
