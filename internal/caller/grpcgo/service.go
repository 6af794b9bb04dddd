package grpcgo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"

	"rpclab/internal/caller"
	"rpclab/internal/measure"
	"rpclab/internal/service"
	"rpclab/internal/service/method"
	"rpclab/internal/service/raw"
)

// reflectionTimeout bounds how long a server may take to describe its methods.
const reflectionTimeout = 30 * time.Second

// OpenCall prepares the call of a service. It asks the server for the method if no file defines it.
func OpenCall(spec service.Spec, target caller.Target) (call *service.Call, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), reflectionTimeout)
	defer cancel()
	secured, err := serviceCredentials(spec)
	if err != nil {
		return nil, err
	}
	var channel *grpc.ClientConn
	if len(spec.Protos) == 0 {
		if channel, err = grpc.NewClient(target.URI, append(DialOptions(target), secured)...); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, channel.Close()) }()
	}
	source, err := spec.Source(func() method.Source { return method.FromServer(channel, metadata.New(spec.Metadata)) })
	if err != nil {
		return nil, err
	}
	return service.Open(ctx, spec, source)
}

// serviceCredentials returns the option with the credentials of a service's connections. The name to verify is
// that of the TLS settings, or else the authority.
func serviceCredentials(spec service.Spec) (grpc.DialOption, error) {
	config, err := spec.TLS.Config()
	if err != nil || config == nil {
		return grpc.WithTransportCredentials(insecure.NewCredentials()), err
	}
	return grpc.WithTransportCredentials(credentials.NewTLS(config)), nil
}

// invokeService makes a call of a service.
func (s *session) invokeService(ctx context.Context, channel *grpc.ClientConn, n uint64) caller.Outcome {
	call := s.service
	request, err := call.Message(n)
	if err != nil {
		return caller.Outcome{Code: "INTERNAL", Message: "make the request: " + err.Error()}
	}
	md, err := call.Metadata(n)
	if err != nil {
		return caller.Outcome{Code: "INTERNAL", Message: "make the metadata: " + err.Error()}
	}
	var header, trailer metadata.MD
	var from peer.Peer
	var named string
	response := raw.Response{Decode: func(response []byte) (err error) {
		named, err = call.Judge(response)
		return err
	}}
	wait, err := Invoke(metadata.NewOutgoingContext(ctx, md), channel, raw.Codec{}, call.Path, request, &response,
		grpc.Header(&header), grpc.Trailer(&trailer), grpc.Peer(&from))
	if err != nil {
		return caller.Outcome{Code: caller.Code(err), Message: err.Error(), Wait: wait}
	}
	address := ""
	if from.Addr != nil {
		address = from.Addr.String()
	}
	o := caller.Outcome{Backend: named, Code: measure.OK, Wait: wait}
	if o.Backend == "" {
		o.Backend = call.Identity().BackendOf(header, trailer, address)
	}
	if wrong := response.Invalid; wrong != nil {
		o.Code, o.Message = service.CodeOf(wrong), fmt.Sprintf("call %s: %v", call.Path, wrong)
	}
	return o
}
