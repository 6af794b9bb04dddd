package lab

import (
	"context"
	"errors"
	"io"

	"rpclab/internal/process"
	"rpclab/internal/process/stdio"
)

// session is the work of `rpclab caller` or `rpclab infrastructure`.
type session interface {
	handlers() []stdio.Handler
	// close ends everything that the handlers started and that still runs.
	close() error
}

// ServeCaller is the command `rpclab caller`: it makes the calls that the lab requests on in. It
// returns early when in ends, since the lab has ended then.
func ServeCaller(in io.Reader, out io.Writer) error {
	conn := stdio.NewConn(in, out)
	return serve(context.Background(), conn, &callerSession{send: conn.Send})
}

// ServeInfrastructure is the command `rpclab infrastructure`: it starts, as child processes, the
// infrastructure that the lab requests on in. It stops them when in or ctx ends. self is the
// command line of this program.
func ServeInfrastructure(ctx context.Context, in io.Reader, out io.Writer, self []string) error {
	return serve(ctx, stdio.NewConn(in, out), &infrastructureSession{self: self})
}

func serve(ctx context.Context, conn *stdio.Conn, s session) error {
	if _, err := process.RaiseFileLimit(); err != nil {
		return err
	}
	err := conn.Serve(ctx, s.handlers()...)
	return errors.Join(err, s.close())
}
