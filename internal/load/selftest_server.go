package load

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"

	"rpclab/internal/measure"
)

// startServer starts a server in this process that sends the same response to every call.
func startServer(probe Probe) (target string, stop func(), err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	reply := make([]byte, probe.Reply)
	switch {
	case max(probe.Request, probe.Reply) <= maxFastServerMessage:
		go serveFast(listener, probe)
		return listener.Addr().String(), func() { _ = listener.Close() }, nil
	case probe.HTTP > 0:
		server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			_, _ = w.Write(reply)
		}), ReadHeaderTimeout: time.Minute, Protocols: new(http.Protocols)}
		server.Protocols.SetHTTP1(true)
		server.Protocols.SetUnencryptedHTTP2(true)
		go func() { _ = server.Serve(listener) }()
		return listener.Addr().String(), func() { _ = server.Close() }, nil
	}
	server := grpc.NewServer(grpc.ForceServerCodecV2(encoding.CodecV2(rawCodec{})),
		grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
			var size int
			if err := stream.RecvMsg(&size); err != nil {
				return err
			}
			return stream.SendMsg(reply)
		}))
	go func() { _ = server.Serve(listener) }()
	return listener.Addr().String(), server.Stop, nil
}

// pingPong exchanges bytes over a bare TCP connection for a time. No call can cost less.
func pingPong(ctx context.Context, sent, got int, during time.Duration) (measured measure.Measurement, err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return measured, err
	}
	ended := make(chan error, 1)
	go func() { ended <- servePong(listener, sent, got) }()
	connection, err := new(net.Dialer).DialContext(ctx, "tcp", listener.Addr().String())
	if err != nil {
		return measured, errors.Join(err, listener.Close(), <-ended)
	}
	recorder := measure.NewRecorder(0)
	there, back := make([]byte, max(sent, 1)), make([]byte, max(got, 1))
	start := time.Now()
	for err == nil && time.Since(start) < during && ctx.Err() == nil {
		due := time.Since(start)
		if _, err = connection.Write(there); err == nil {
			_, err = io.ReadFull(connection, back)
		}
		recorder.Record(measure.Call{Due: due, Sent: due, Done: time.Since(start), Code: measure.OK})
	}
	if err = errors.Join(err, connection.Close(), <-ended, listener.Close()); err != nil {
		return measured, err
	}
	return recorder.Measurement()
}

// servePong answers one connection until the peer closes it.
func servePong(listener net.Listener, sent, got int) error {
	connection, err := listener.Accept()
	if err != nil {
		return nil // the dialer reports the error
	}
	defer connection.Close()
	there, back := make([]byte, max(sent, 1)), make([]byte, max(got, 1))
	for {
		if _, err := io.ReadFull(connection, there); err != nil {
			return nil
		}
		if _, err := connection.Write(back); err != nil {
			return err
		}
	}
}
