package load

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"

	"rpclab/internal/measure"
	"rpclab/internal/process"
	"rpclab/internal/process/stdio"
	"rpclab/internal/service/raw"
)

// SelfTestCommand is the command of rpclab that calls [ServeSelfTest].
const SelfTestCommand = "self-test-server"

// served is what the process of the servers reads.
type served struct {
	Probe
	Keys testKeys
}

// ServeSelfTest is the process of the servers of a self-test, which cannot take processors from the
// generator unnoticed then. It reads a probe from in, writes the addresses of a server for calls and of a
// peer for bare TCP connections to out, and serves until in ends.
func ServeSelfTest(in io.Reader, out io.Writer) error {
	var probe served
	if err := json.NewDecoder(in).Decode(&probe); err != nil {
		return fmt.Errorf("read a probe from standard input, which rpclab itself writes: %w", err)
	}
	calls, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	if probe.TLS {
		if calls, err = probe.Keys.listen(calls); err != nil {
			return err
		}
	}
	defer serveCalls(calls, probe.Probe)()
	peer, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer peer.Close()
	go servePeer(peer)
	if err := errors.Join(stdio.Announce(out, calls.Addr()), stdio.Announce(out, peer.Addr())); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, in)
	return err
}

// testServer is the process of [ServeSelfTest].
type testServer struct {
	*process.Process
	calls, peer string      // addresses
	security    *tls.Config // of clients of calls; nil: clear text
}

// startTestServer starts the process and returns when it serves.
func startTestServer(ctx context.Context, probe Probe) (server testServer, err error) {
	if len(probe.Self) == 0 {
		return server, errors.New("the command line of rpclab is not known")
	}
	var keys testKeys
	if probe.TLS {
		if keys, err = newTestKeys(); err != nil {
			return server, err
		}
		if server.security, err = keys.client(); err != nil {
			return server, err
		}
	}
	addresses := make(chan string, 2)
	server.Process, err = process.Start(process.Spec{Args: append(slices.Clone(probe.Self), SelfTestCommand), Stdout: stdio.NewLines(func(line string) {
		if address, ok := stdio.Announced(line); ok {
			addresses <- address
		}
	})})
	if err != nil {
		return server, err
	}
	if err := json.NewEncoder(server.Stdin).Encode(served{probe, keys}); err != nil {
		return server, stdio.Exited("the server of the self-test", server, err)
	}
	for _, address := range []*string{&server.calls, &server.peer} {
		select {
		case *address = <-addresses:
		case <-server.Done():
			return server, stdio.Exited("the server of the self-test", server, nil)
		case <-ctx.Done():
			server.Kill()
			return server, ctx.Err()
		}
	}
	return server, nil
}

// serveCalls sends the same response to every call, until stop is called.
func serveCalls(listener net.Listener, probe Probe) (stop func()) {
	reply := make([]byte, probe.Reply)
	switch {
	case max(probe.Request, probe.Reply) <= maxFastServerMessage:
		go serveFast(listener, probe)
		return func() { _ = listener.Close() }
	case probe.HTTP > 0:
		server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			_, _ = w.Write(reply)
		}), ReadHeaderTimeout: time.Minute, Protocols: new(http.Protocols)}
		server.Protocols.SetHTTP1(true)
		server.Protocols.SetHTTP2(true)
		server.Protocols.SetUnencryptedHTTP2(true)
		go func() { _ = server.Serve(listener) }()
		return func() { _ = server.Close() }
	}
	server := grpc.NewServer(grpc.ForceServerCodecV2(encoding.CodecV2(raw.Codec{})),
		grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
			var size int
			if err := stream.RecvMsg(&size); err != nil {
				return err
			}
			return stream.SendMsg(reply)
		}))
	go func() { _ = server.Serve(listener) }()
	return server.Stop
}

// pingPong exchanges bytes with the peer over a bare TCP connection for a time. No call can cost less.
func pingPong(ctx context.Context, peer string, sent, got int, during time.Duration) (measured measure.Measurement, err error) {
	connection, err := new(net.Dialer).DialContext(ctx, "tcp", peer)
	if err != nil {
		return measured, err
	}
	defer connection.Close()
	defer context.AfterFunc(ctx, func() { _ = connection.SetDeadline(time.Now()) })()
	there, back := make([]byte, max(sent, 1)), make([]byte, max(got, 1))
	sizes := binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, uint64(len(there))), uint64(len(back)))
	if _, err := connection.Write(sizes); err != nil {
		return measured, err
	}
	recorder := measure.NewRecorder(0)
	start := time.Now()
	for err == nil && time.Since(start) < during && ctx.Err() == nil {
		due := time.Since(start)
		if _, err = connection.Write(there); err == nil {
			_, err = io.ReadFull(connection, back)
		}
		recorder.Record(measure.Call{Due: due, Sent: due, Done: time.Since(start), Code: measure.OK})
	}
	if err != nil {
		return measured, cmp.Or(ctx.Err(), err)
	}
	return recorder.Measurement()
}

// servePeer answers connections, one after the other, until the listener is closed.
func servePeer(listener net.Listener) {
	for {
		connection, err := listener.Accept()
		if err != nil {
			return
		}
		answerBytes(connection)
	}
}

// answerBytes reads how many bytes to read and to write each time, and does that until the peer closes the
// connection.
func answerBytes(connection net.Conn) {
	defer connection.Close()
	var sizes [16]byte
	if _, err := io.ReadFull(connection, sizes[:]); err != nil {
		return
	}
	there, back := make([]byte, binary.BigEndian.Uint64(sizes[:8])), make([]byte, binary.BigEndian.Uint64(sizes[8:]))
	for {
		if _, err := io.ReadFull(connection, there); err != nil {
			return
		}
		if _, err := connection.Write(back); err != nil {
			return
		}
	}
}
