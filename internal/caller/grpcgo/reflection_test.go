package grpcgo_test

import (
	"net"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/reflection"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	"rpclab/internal/caller"
	"rpclab/internal/caller/grpcgo"
	"rpclab/internal/service"
)

// A file of a large service exceeds the 4 MB that grpc-go accepts by default.
func TestTheDescriptionOfALargeServiceIsRead(t *testing.T) {
	file, err := protodesc.NewFile(&descriptorpb.FileDescriptorProto{
		Name: new("shop.proto"), Package: new("shop"), Syntax: new("proto3"),
		MessageType: []*descriptorpb.DescriptorProto{{Name: new("Order"), ReservedName: []string{strings.Repeat("x", 5<<20)}}},
		Service: []*descriptorpb.ServiceDescriptorProto{{Name: new("Orders"), Method: []*descriptorpb.MethodDescriptorProto{
			{Name: new("Get"), InputType: new(".shop.Order"), OutputType: new(".shop.Order")},
		}}},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	files := new(protoregistry.Files)
	if err := files.RegisterFile(file); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	reflectionv1.RegisterServerReflectionServer(server, reflection.NewServerV1(reflection.ServerOptions{Services: server, DescriptorResolver: files}))
	served := make(chan struct{})
	go func() { defer close(served); _ = server.Serve(listener) }()
	defer func() { server.Stop(); <-served }()
	spec := service.Spec{Name: "get", Method: "shop.Orders/Get"}
	if _, err := grpcgo.Describe(t.Context(), spec, caller.Target{URI: "passthrough:///" + listener.Addr().String()}); err != nil {
		t.Errorf("%.300v", err)
	}
}
