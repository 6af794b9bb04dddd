package lab

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"rpclab/internal/caller"
	"rpclab/internal/caller/grpcgo"
	"rpclab/internal/cluster"
	"rpclab/internal/service"
	"rpclab/internal/service/method"
)

// ErrService is wrapped by the error of a service file that does not fit the service that runs.
var ErrService = errors.New("the service file does not fit the service")

// descriptions are the methods that services described, so that each is asked once in a run.
type descriptions map[string][]byte // by service and method

// complete adds to a call the methods that its service describes, and checks the call. It asks a server that
// is ready.
func (d descriptions) complete(ctx context.Context, call *service.Spec, servers cluster.Deployment) error {
	if call.Method == "" || len(call.Protos) > 0 {
		return nil
	}
	key := servers.Service().Name + " " + call.Method
	if known := d[key]; known != nil {
		call.Protos = known
		source, err := method.FromDescriptors(known)
		if err == nil {
			_, err = service.Open(ctx, *call, source)
		}
		if err != nil {
			return fmt.Errorf("%w: %w", ErrService, err)
		}
		return nil
	}
	address, ok := readyAddress(servers)
	if !ok {
		return nil // the callers will say so
	}
	source, err := grpcgo.Describe(ctx, *call, caller.Target{URI: "passthrough:///" + address.String()})
	if errors.Is(err, method.ErrNoAnswer) {
		return err // the server may have died
	}
	if err != nil {
		return service.FieldError{Call: call.Name, Field: "method", Err: fmt.Errorf("%w: %w", ErrService, err)}
	}
	if _, err := service.Open(ctx, *call, source); err != nil {
		return fmt.Errorf("%w: %w", ErrService, err)
	}
	if call.Protos, err = method.Descriptors(source); err != nil {
		return err
	}
	d[key] = call.Protos
	return nil
}

// checkMessages checks that a stream can carry the messages of a call whose method is known.
func checkMessages(ctx context.Context, call service.Spec) error {
	source, err := method.FromDescriptors(call.Protos)
	if err != nil {
		return err
	}
	opened, err := service.Open(ctx, call, source)
	if err != nil {
		return err
	}
	return opened.CheckMessages()
}

// readyAddress returns the address at which a ready backend itself listens; false: none is ready.
func readyAddress(servers cluster.Deployment) (address netip.AddrPort, ok bool) {
	now, _ := servers.Endpoints().Current()
	ready := now.Ready()
	if len(ready) == 0 {
		return address, false
	}
	address = ready[0].Addr
	if proxied, ok := servers.(cluster.FaultProxies); ok {
		for _, proxy := range proxied.FaultProxies() {
			if proxy.Addr == address {
				address = proxy.Backend
			}
		}
	}
	return address, true
}
