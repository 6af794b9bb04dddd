package workload

import (
	"context"
	"net/http"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/dynamicpb"

	rpclabv1 "rpclab/api/rpclab/v1"
)

// Versions of the API of Chain. Clients know V1.
const (
	V1      = "v1"
	V2      = "v2"      // the package rpclab.v2 in place of rpclab.v1; REST: the path /v2/increase
	BothV   = "both"    // v1 and v2
	Changed = "changed" // the names of v1, but the field of a number is 2 in place of 1; REST: its name is number
)

// APIs lists the versions.
var APIs = []string{V1, V2, BothV, Changed}

// registerChain registers Chain by the server's version of its API.
func (s *Server) registerChain(server *grpc.Server) error {
	if s.API == Changed {
		return registerChanged(server)
	}
	if s.API != V2 {
		rpclabv1.RegisterChainServer(server, chain{})
	}
	if s.API == V2 || s.API == BothV {
		v2 := rpclabv1.Chain_ServiceDesc
		v2.ServiceName = "rpclab.v2.Chain"
		server.RegisterService(&v2, chain{})
	}
	return nil
}

// registerChanged registers a Chain whose messages have another field number. Messages of old clients are valid, and
// empty: protobuf skips fields that it does not know.
func registerChanged(server *grpc.Server) error {
	file := protodesc.ToFileDescriptorProto(rpclabv1.File_rpclab_v1_chain_proto)
	for _, message := range file.MessageType {
		message.Field[0].Number = proto.Int32(2)
	}
	changed, err := protodesc.NewFile(file, protoregistry.GlobalFiles)
	if err != nil {
		return err
	}
	number := changed.Messages().ByName("Number")
	increase := func(_ context.Context, request any) (any, error) {
		value := number.Fields().ByNumber(2)
		after := dynamicpb.NewMessage(number)
		after.Set(value, protoreflect.ValueOfUint32(uint32(request.(*dynamicpb.Message).Get(value).Uint())+1))
		return after, nil
	}
	method := rpclabv1.Chain_ServiceDesc.Methods[0]
	method.Handler = func(service any, ctx context.Context, decode func(any) error, intercept grpc.UnaryServerInterceptor) (any, error) {
		request := dynamicpb.NewMessage(number)
		if err := decode(request); err != nil {
			return nil, err
		}
		return intercept(ctx, request, &grpc.UnaryServerInfo{Server: service, FullMethod: rpclabv1.Chain_Increase_FullMethodName}, increase)
	}
	server.RegisterService(&grpc.ServiceDesc{
		ServiceName: rpclabv1.Chain_ServiceDesc.ServiceName, HandlerType: (*any)(nil), Methods: []grpc.MethodDesc{method},
		Metadata: rpclabv1.Chain_ServiceDesc.Metadata,
	}, chain{})
	return nil
}

// handleChain registers the paths of Chain by the server's version of its API.
func (s *Server) handleChain(mux *http.ServeMux) {
	if s.API == Changed {
		mux.Handle("POST /increase", post(s, func(ctx context.Context, n *changedNumber) (*changedNumber, error) {
			after, err := chain{}.Increase(ctx, &rpclabv1.Number{Value: n.Number})
			return &changedNumber{after.GetValue()}, err
		}))
		return
	}
	if s.API != V2 {
		mux.Handle("POST /increase", post(s, chain{}.Increase))
	}
	if s.API == V2 || s.API == BothV {
		mux.Handle("POST /v2/increase", post(s, chain{}.Increase))
	}
}

// changedNumber is a number in an API whose field has another name.
type changedNumber struct {
	Number uint32 `json:"number"`
}
