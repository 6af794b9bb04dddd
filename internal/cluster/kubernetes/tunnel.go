package kubernetes

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/httpstream"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
)

// tunnel connects to a port of a pod through the API server and the kubelet: over WebSocket,
// or SPDY where a server or proxy does not support that.
func (a *API) tunnel(ctx context.Context, namespace, pod string, port int) (net.Conn, error) {
	url := a.client.CoreV1().RESTClient().Post().Resource("pods").Namespace(namespace).Name(pod).SubResource("portforward").URL()
	transport, upgrader, err := spdy.RoundTripperFor(a.config)
	if err != nil {
		return nil, err
	}
	overSPDY := spdy.NewDialer(upgrader, &http.Client{Transport: transport}, http.MethodPost, url)
	overWebSocket, err := portforward.NewSPDYOverWebsocketDialer(url, a.config)
	if err != nil {
		return nil, err
	}
	dialer := portforward.NewFallbackDialer(overWebSocket, overSPDY, func(err error) bool {
		return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
	})
	conn, err := untilEnd(ctx, func() (net.Conn, error) { return forwardPort(dialer, port) })
	if err != nil {
		return nil, fmt.Errorf("reach port %d of pod %s: %w", port, pod, explain(err, namespace))
	}
	return conn, nil
}

// untilEnd waits for a dialer that takes no context until the context ends. It closes a connection that comes later.
func untilEnd(ctx context.Context, dial func() (net.Conn, error)) (net.Conn, error) {
	type result struct {
		conn net.Conn
		err  error
	}
	done := make(chan result, 1)
	go func() {
		conn, err := dial()
		done <- result{conn, err}
	}()
	select {
	case opened := <-done:
		return opened.conn, opened.err
	case <-ctx.Done():
		go func() {
			if late := <-done; late.err == nil {
				late.conn.Close()
			}
		}()
		return nil, ctx.Err()
	}
}

// forwardPort opens the two streams of a forwarded connection, for data and for errors.
func forwardPort(dialer httpstream.Dialer, port int) (net.Conn, error) {
	streams, _, err := dialer.Dial(portforward.PortForwardProtocolV1Name)
	if err != nil {
		return nil, err
	}
	header := http.Header{}
	header.Set(corev1.StreamType, corev1.StreamTypeError)
	header.Set(corev1.PortHeader, strconv.Itoa(port))
	header.Set(corev1.PortForwardRequestIDHeader, "0")
	errorStream, err := streams.CreateStream(header)
	if err != nil {
		streams.Close()
		return nil, err
	}
	_ = errorStream.Close() // nothing is written to it
	header.Set(corev1.StreamType, corev1.StreamTypeData)
	data, err := streams.CreateStream(header)
	if err != nil {
		streams.Close()
		return nil, err
	}
	conn := &forwarded{streams: streams, data: data, ended: make(chan struct{})}
	go conn.readError(errorStream)
	return conn, nil
}

// forwarded is a connection to a port of a pod.
type forwarded struct {
	streams httpstream.Connection
	data    httpstream.Stream
	ended   chan struct{} // closed when err is set
	err     error
	once    sync.Once
}

// readError waits for the kubelet's error, and then closes the connection. Without an error
// the data stream ends by itself.
func (f *forwarded) readError(errors io.Reader) {
	message, err := io.ReadAll(errors)
	if len(message) > 0 {
		err = fmt.Errorf("%s", message)
	}
	f.err = err
	close(f.ended)
	if err != nil {
		f.Close()
	}
}

func (f *forwarded) Read(buffer []byte) (int, error) {
	n, err := f.data.Read(buffer)
	return n, f.cause(err)
}

func (f *forwarded) Write(buffer []byte) (int, error) {
	n, err := f.data.Write(buffer)
	return n, f.cause(err)
}

// cause is the kubelet's error, if there is one.
func (f *forwarded) cause(err error) error {
	if err == nil {
		return nil
	}
	select {
	case <-f.ended:
		if f.err != nil {
			return f.err
		}
	default:
	}
	return err
}

func (f *forwarded) Close() error {
	f.once.Do(func() {
		_ = f.data.Reset()
		f.streams.Close()
	})
	return nil
}

// addr is the address of both ends of a tunnel.
type addr struct{}

func (addr) Network() string { return "portforward" }
func (addr) String() string  { return "pod" }

func (f *forwarded) LocalAddr() net.Addr  { return addr{} }
func (f *forwarded) RemoteAddr() net.Addr { return addr{} }

// Deadlines are ignored: streams have none, and gRPC closes a silent connection by keepalive.
func (f *forwarded) SetDeadline(time.Time) error      { return nil }
func (f *forwarded) SetReadDeadline(time.Time) error  { return nil }
func (f *forwarded) SetWriteDeadline(time.Time) error { return nil }
