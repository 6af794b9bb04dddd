// Package method finds the method that a load calls: by server reflection, from .proto
// files, or in a compiled descriptor set.
package method

import (
	"context"
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"rpclab/internal/service/request"
	"rpclab/internal/suggest"
)

// Source finds services by name.
type Source interface {
	// Services returns the full names of all services.
	Services(context.Context) ([]string, error)
	// Service returns a service, or nil if it does not exist.
	Service(context.Context, string) (protoreflect.ServiceDescriptor, error)
}

// Find returns the method of a call: package.Service/Method, or package.Service.Method. An error
// about the name matches [request.ErrInvalid] and suggests a similar name.
func Find(ctx context.Context, source Source, call string) (protoreflect.MethodDescriptor, error) {
	name, method, ok := Split(call)
	if !ok {
		return nil, request.Invalidf("%q is not a method: use the form package.Service/Method", call)
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
		return nil, request.Invalidf("no method %q in %s%s", method, name, suggest.DidYouMean(method, methods(service)))
	}
	return found, nil
}

// Split splits the full name of a method.
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

// Path returns the path of a method in HTTP/2: /package.Service/Method.
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
		return request.Invalidf("no service %q; the server lists no services", name)
	}
	return request.Invalidf("no service %q%s", name, suggest.DidYouMean(name, names))
}

func methods(service protoreflect.ServiceDescriptor) (names []string) {
	for i := range service.Methods().Len() {
		names = append(names, string(service.Methods().Get(i).Name()))
	}
	return names
}
