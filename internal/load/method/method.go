// Package method finds the method that a load calls: by server reflection, from .proto
// files, or in a compiled descriptor set.
package method

import (
	"context"
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"rpclab/internal/load/request"
	"rpclab/internal/nearest"
)

// Source knows services by name.
type Source interface {
	// Services are the full names of all services.
	Services(context.Context) ([]string, error)
	// Service is one of them; nil: there is none of that name.
	Service(context.Context, string) (protoreflect.ServiceDescriptor, error)
}

// Find returns the method that a call names: package.Service/Method, or with a
// dot for the slash. An error about the name matches [request.ErrWrong] and suggests the
// nearest one that exists.
func Find(ctx context.Context, source Source, call string) (protoreflect.MethodDescriptor, error) {
	name, method, ok := Split(call)
	if !ok {
		return nil, request.Wrongf("%q names no method: write package.Service/Method", call)
	}
	service, err := source.Service(ctx, name)
	if err != nil {
		return nil, err
	}
	if service == nil {
		return nil, noService(ctx, source, name)
	}
	found := service.Methods().ByName(protoreflect.Name(method))
	if found == nil {
		return nil, request.Wrongf("no method %q in %s%s", method, name, nearest.Suggest(method, methods(service)))
	}
	return found, nil
}

// Split takes the name of a method apart.
func Split(call string) (service, method string, ok bool) {
	call = strings.TrimPrefix(call, "/")
	at := strings.LastIndexByte(call, '/')
	if at < 0 {
		at = strings.LastIndexByte(call, '.')
	}
	if at < 1 || at == len(call)-1 {
		return "", "", false
	}
	return call[:at], call[at+1:], true
}

// Path is the name of a method as HTTP/2 carries it: /package.Service/Method.
func Path(m protoreflect.MethodDescriptor) string {
	return "/" + string(m.Parent().FullName()) + "/" + string(m.Name())
}

func noService(ctx context.Context, source Source, name string) error {
	names, err := source.Services(ctx)
	if err != nil {
		return err
	}
	names = slices.DeleteFunc(names, func(s string) bool { return strings.HasPrefix(s, "grpc.reflection.") })
	slices.Sort(names)
	if len(names) == 0 {
		return request.Wrongf("no service %q, nor any other", name)
	}
	return request.Wrongf("no service %q%s", name, nearest.Suggest(name, names))
}

func methods(service protoreflect.ServiceDescriptor) (names []string) {
	for i := range service.Methods().Len() {
		names = append(names, string(service.Methods().Get(i).Name()))
	}
	return names
}
