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

// tunnel connects to a port of a pod by way of the API server and the pod's kubelet: over
// WebSocket, and by SPDY where a server or a proxy on the way is too old for that.
func (a *API) tunnel(ctx context.Context, namespace, pod string, port int) (net.Conn, error) {
	url := a.client.CoreV1().RESTClient().Post().Resource("pods").Namespace(namespace).Name(pod).SubResource("portforward").URL()
	transport, upgrader, err := spdy.RoundTripperFor(a.config)
	if err != nil {
		return nil, err
	}
	older := spdy.NewDialer(upgrader, &http.Client{Transport: transport}, http.MethodPost, url)
	newer, err := portforward.NewSPDYOverWebsocketDialer(url, a.config)
	if err != nil {
		return nil, err
	}
	dialer := portforward.NewFallbackDialer(newer, older, func(err error) bool {
		return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
	})
	type dialled struct {
		conn net.Conn
		err  error
	}
	done := make(chan dialled, 1)
	go func() { // the dialer knows no context
		conn, err := open(dialer, port)
		if err == nil && ctx.Err() != nil {
			err = ctx.Err()
			conn.Close()
		}
		done <- dialled{conn, err}
	}()
	select {
	case d := <-done:
		if d.err != nil {
			return nil, fmt.Errorf("reach port %d of pod %s: %w", port, pod, explain(d.err, namespace))
		}
		return d.conn, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("reach port %d of pod %s: %w", port, pod, ctx.Err())
	}
}

// open makes the two streams of a forwarded connection: data, and what went wrong.
func open(dialer httpstream.Dialer, port int) (net.Conn, error) {
	streams, _, err := dialer.Dial(portforward.PortForwardProtocolV1Name)
	if err != nil {
		return nil, err
	}
	header := http.Header{}
	header.Set(corev1.StreamType, corev1.StreamTypeError)
	header.Set(corev1.PortHeader, strconv.Itoa(port))
	header.Set(corev1.PortForwardRequestIDHeader, "0")
	wrong, err := streams.CreateStream(header)
	if err != nil {
		streams.Close()
		return nil, err
	}
	_ = wrong.Close() // nothing is written to it
	header.Set(corev1.StreamType, corev1.StreamTypeData)
	data, err := streams.CreateStream(header)
	if err != nil {
		streams.Close()
		return nil, err
	}
	t := &forwarded{streams: streams, data: data, over: make(chan struct{})}
	go t.listen(wrong)
	return t, nil
}

// forwarded is a connection to a port of a pod.
type forwarded struct {
	streams httpstream.Connection
	data    httpstream.Stream
	over    chan struct{} // closed when wrong is set
	wrong   error
	once    sync.Once
}

// listen waits for the kubelet to say what went wrong, and ends the connection then. Where
// nothing did, data that is under way still arrives: it has an end of its own.
func (f *forwarded) listen(errors io.Reader) {
	message, err := io.ReadAll(errors)
	if len(message) > 0 {
		err = fmt.Errorf("%s", message)
	}
	f.wrong = err
	close(f.over)
	if err != nil {
		f.Close()
	}
}

func (f *forwarded) Read(p []byte) (int, error) {
	n, err := f.data.Read(p)
	return n, f.why(err)
}

func (f *forwarded) Write(p []byte) (int, error) {
	n, err := f.data.Write(p)
	return n, f.why(err)
}

// why is the kubelet's reason for an error, where it gave one.
func (f *forwarded) why(err error) error {
	if err == nil {
		return nil
	}
	select {
	case <-f.over:
		if f.wrong != nil {
			return f.wrong
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

// addr is a name for the ends of a tunnel, which have no address.
type addr struct{}

func (addr) Network() string { return "portforward" }
func (addr) String() string  { return "pod" }

func (f *forwarded) LocalAddr() net.Addr  { return addr{} }
func (f *forwarded) RemoteAddr() net.Addr { return addr{} }

// Deadlines are not kept: streams know none, and gRPC ends a silent connection by itself
// (keepalive).
func (f *forwarded) SetDeadline(time.Time) error      { return nil }
func (f *forwarded) SetReadDeadline(time.Time) error  { return nil }
func (f *forwarded) SetWriteDeadline(time.Time) error { return nil }
