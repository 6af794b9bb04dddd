package faultproxy_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"rpclab/internal/workload"
)

// listed is a block with a long field, which HPACK encodes in one byte from the second on.
func listed(t *testing.T, times int) []byte {
	t.Helper()
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	for range times {
		if err := encoder.WriteField(hpack.HeaderField{Name: "x", Value: strings.Repeat("a", 4000)}); err != nil {
			t.Fatal(err)
		}
	}
	return block.Bytes()
}

// raw connects a client through a proxy to a backend that reads the first bytes of the client and calls answer.
func raw(t *testing.T, fault workload.Fault, request []byte, answer func(backend net.Conn) error) (client net.Conn, answered <-chan error) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	result := make(chan error, 1)
	go func() {
		backend, err := listener.Accept()
		if err == nil {
			defer backend.Close()
			_, err = io.ReadFull(backend, make([]byte, len(request)))
		}
		if err == nil {
			err = errors.Join(backend.SetDeadline(time.Now().Add(20*time.Second)), answer(backend))
		}
		result <- err
	}()
	proxy, address := proxied(t, listener.Addr().String())
	proxy.SetFault(fault)
	client, err = net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	if err := client.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Write(request); err != nil {
		t.Fatal(err)
	}
	return client, result
}

// http2Request is the preface, SETTINGS and a call.
func http2Request(t *testing.T, settings ...http2.Setting) []byte {
	t.Helper()
	var request bytes.Buffer
	request.WriteString(http2.ClientPreface)
	framer := http2.NewFramer(&request, nil)
	err := framer.WriteSettings(settings...)
	if err := errors.Join(err, framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte{0x82, 0x86, 0x84}, EndStream: true, EndHeaders: true})); err != nil {
		t.Fatal(err)
	}
	return request.Bytes()
}

// A server must not make the proxy store what callers would not accept.
func TestWhatIsTooLargeResetsTheConnection(t *testing.T) {
	const most = 64 << 20 // that the proxy may read before it resets
	for name, test := range map[string]struct {
		request []byte
		answer  func(framer *http2.Framer, backend net.Conn) error
	}{
		"frame": {http2Request(t), func(framer *http2.Framer, _ net.Conn) error {
			return framer.WriteData(1, false, make([]byte, 16385))
		}},
		"header block without end": {http2Request(t), func(framer *http2.Framer, _ net.Conn) error {
			err := framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte{0x88}})
			for sent := 0; err == nil && sent < most; sent += 16384 {
				err = framer.WriteContinuation(1, false, bytes.Repeat([]byte{0x88}, 16384))
			}
			return err
		}},
		"header list": {http2Request(t), func(framer *http2.Framer, _ net.Conn) error {
			return framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: listed(t, 5000), EndHeaders: true})
		}},
		"delayed response": {http2Request(t), func(framer *http2.Framer, _ net.Conn) error {
			err := framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte{0x88}, EndHeaders: true})
			for sent := 0; err == nil && sent < 2*most; sent += 16384 {
				err = framer.WriteData(1, false, make([]byte, 16384))
			}
			return err
		}},
		"head of HTTP/1.1": {[]byte("GET / HTTP/1.1\r\nHost: b\r\n\r\n"), func(_ *http2.Framer, backend net.Conn) error {
			_, err := io.WriteString(backend, "HTTP/1.1 200 OK\r\nX: ")
			for sent := 0; err == nil && sent < most; sent += 1 << 20 {
				_, err = backend.Write(bytes.Repeat([]byte("a"), 1<<20))
			}
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			client, answered := raw(t, workload.Fault{Slow: time.Hour}, test.request, func(backend net.Conn) error {
				framer := http2.NewFramer(backend, nil)
				framer.AllowIllegalWrites = true
				err := test.answer(framer, backend)
				_, _ = io.Copy(io.Discard, backend) // until the proxy ends the connection
				return err
			})
			_, err := io.Copy(io.Discard, client)
			if timeout := net.Error(nil); err == nil || errors.As(err, &timeout) && timeout.Timeout() {
				t.Errorf("the client's connection ends with %v, want a reset", err)
			}
			if err := <-answered; err == nil && slices.Contains([]string{"header block without end", "delayed response", "head of HTTP/1.1"}, name) {
				t.Errorf("the proxy read %d MiB, want a reset before", most>>20)
			}
		})
	}
}

// The size that a client announces is the limit of what its backend sends.
func TestAFrameOfAnAnnouncedSizeIsPassedOn(t *testing.T) {
	const size = 60000
	client, answered := raw(t, workload.Fault{}, http2Request(t, http2.Setting{ID: http2.SettingMaxFrameSize, Val: 1 << 16}), func(backend net.Conn) error {
		framer := http2.NewFramer(backend, nil)
		err := framer.WriteSettings()
		err = errors.Join(err, framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte{0x88}, EndHeaders: true}))
		return errors.Join(err, framer.WriteData(1, true, make([]byte, size)))
	})
	framer := http2.NewFramer(nil, client)
	for {
		f, err := framer.ReadFrame()
		if err != nil {
			t.Fatalf("no DATA arrived: %v, %v", err, <-answered)
		}
		if data, ok := f.(*http2.DataFrame); ok {
			if len(data.Data()) != size {
				t.Errorf("%d bytes arrived, want %d", len(data.Data()), size)
			}
			return
		}
	}
}
