// Command secureserver is a service with mutual TLS for the tests. It reads its keys from /etc/tls and listens at the
// address of its first argument.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"log"
	"net"
	"os"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/reflection"

	rpclabv1 "rpclab/api/rpclab/v1"
)

func main() {
	if err := serve(os.Args[1]); err != nil {
		log.Fatal(err)
	}
}

func serve(address string) error {
	own, err := tls.LoadX509KeyPair("/etc/tls/tls.crt", "/etc/tls/tls.key")
	if err != nil {
		return err
	}
	clients, err := os.ReadFile("/etc/tls/clients.crt")
	if err != nil {
		return err
	}
	config := &tls.Config{Certificates: []tls.Certificate{own}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: x509.NewCertPool()}
	if !config.ClientCAs.AppendCertsFromPEM(clients) {
		return errors.New("/etc/tls/clients.crt contains no certificate")
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	server := grpc.NewServer(grpc.Creds(credentials.NewTLS(config)))
	rpclabv1.RegisterGreeterServer(server, greeter{})
	reflection.Register(server)
	return server.Serve(listener)
}

type greeter struct {
	rpclabv1.UnimplementedGreeterServer
}

// SayHello implements the service.
func (greeter) SayHello(_ context.Context, request *rpclabv1.HelloRequest) (*rpclabv1.HelloReply, error) {
	return &rpclabv1.HelloReply{Message: "Hello, " + request.Name}, nil
}
