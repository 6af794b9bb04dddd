package lab

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	"rpclab/internal/cluster"
	"rpclab/internal/service"
	"rpclab/internal/service/method"
)

// ErrService is wrapped by the error of a service file that does not fit the service that runs.
var ErrService = errors.New("the service file does not fit the service")

// descriptionTimeout bounds how long a server may take to describe its methods.
const descriptionTimeout = 30 * time.Second

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
	now, _ := servers.Endpoints().Current()
	ready := now.Ready()
	if len(ready) == 0 {
		return nil // the callers will say so
	}
	ctx, cancel := context.WithTimeout(ctx, descriptionTimeout)
	defer cancel()
	secured, err := call.TLS.Config()
	if err != nil {
		return err
	}
	transport := insecure.NewCredentials()
	if secured != nil {
		transport = credentials.NewTLS(secured)
	}
	options := []grpc.DialOption{grpc.WithTransportCredentials(transport), grpc.WithNoProxy()}
	if call.Authority != "" {
		options = append(options, grpc.WithAuthority(call.Authority))
	}
	channel, err := grpc.NewClient("passthrough:///"+ready[0].Addr.String(), options...)
	if err != nil {
		return err
	}
	defer channel.Close()
	source, err := method.Copy(ctx, method.FromServer(channel, metadata.New(call.Metadata)), call.Method)
	if err != nil {
		return fmt.Errorf("%w: call %s: %w", ErrService, call.Name, err)
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
