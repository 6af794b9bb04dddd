package e2e

import (
	"bufio"
	"encoding/json"
	"io"
	"net"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"google.golang.org/protobuf/proto"

	rpclabv1 "rpclab/api/rpclab/v1"
)

// A punctual server is a process that answers every gRPC call a fixed time after the call arrived. It
// needs so little CPU time that even a thousand waiting calls are answered on time, so the latencies
// follow from the schedule of the caller.

const (
	punctualServer = "RPCLAB_TEST_PUNCTUAL_SERVER"
	punctualDelay  = 100 * time.Millisecond
)

// startPunctualServer starts the server and returns its process and address.
func startPunctualServer(t *testing.T) (*os.Process, string) {
	t.Helper()
	c := exec.Command(os.Args[0], "-test.run=^TestHelperPunctualServer$")
	c.Env = append(os.Environ(), punctualServer+"=1")
	stdin, err := c.StdinPipe() // the server exits when it closes
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = stdin.Close()
		_ = c.Process.Kill()
		_ = c.Wait()
	})
	var address string
	if err := json.NewDecoder(stdout).Decode(&address); err != nil {
		t.Fatalf("the punctual server did not start: %v", err)
	}
	return c.Process, address
}

// TestHelperPunctualServer is no test: it is the server, if an environment variable says so.
func TestHelperPunctualServer(t *testing.T) {
	if os.Getenv(punctualServer) == "" {
		return
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() { _ = newPunctual(conn).serve() }()
		}
	}()
	if err := json.NewEncoder(os.Stdout).Encode(listener.Addr().String()); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	listener.Close()
}

// punctual is one connection of the server.
type punctual struct {
	conn   net.Conn
	framer *http2.Framer
	due    chan answer // in order, because all wait equally long

	mu  sync.Mutex // guards writes
	out *bufio.Writer
}

type answer struct {
	stream uint32
	at     time.Time
}

func newPunctual(conn net.Conn) *punctual {
	p := &punctual{conn: conn, due: make(chan answer, 2*proofRate*int(proofStall/time.Second)), out: bufio.NewWriter(conn)}
	p.framer = http2.NewFramer(p.out, bufio.NewReader(conn))
	return p
}

// serve reads until the client closes the connection.
func (p *punctual) serve() error {
	defer p.conn.Close()
	defer close(p.due)
	go p.answer()
	if _, err := io.ReadFull(p.conn, make([]byte, len(http2.ClientPreface))); err != nil {
		return err
	}
	if err := p.write(func() error { return p.framer.WriteSettings() }); err != nil {
		return err
	}
	for {
		frame, err := p.framer.ReadFrame()
		if err != nil {
			return err
		}
		at := time.Now().Add(punctualDelay)
		switch f := frame.(type) {
		case *http2.SettingsFrame:
			if !f.IsAck() {
				err = p.write(p.framer.WriteSettingsAck)
			}
		case *http2.PingFrame:
			err = p.write(func() error { return p.framer.WritePing(true, f.Data) })
		case *http2.DataFrame:
			if f.StreamEnded() {
				p.due <- answer{f.StreamID, at}
			}
			err = p.write(func() error { return p.framer.WriteWindowUpdate(0, f.Length) })
		}
		if err != nil {
			return err
		}
	}
}

// answer writes each answer at its time.
func (p *punctual) answer() {
	message, _ := proto.Marshal(&rpclabv1.HelloReply{Message: "on time"}) // cannot fail
	message = append([]byte{0, 0, 0, 0, byte(len(message))}, message...)
	// Literal fields without the dynamic table: RFC 7541, section 6.2.2, and index 8, :status 200.
	head := append([]byte{0x88, 0x0f, 0x10, 16}, "application/grpc"...)
	trailer := append([]byte{0x00, 11}, "grpc-status\x010"...)
	for a := range p.due {
		<-time.After(time.Until(a.at))
		_ = p.write(func() error { // an error means that the client is gone, and serve ends
			_ = p.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: a.stream, BlockFragment: head, EndHeaders: true})
			_ = p.framer.WriteData(a.stream, false, message)
			return p.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: a.stream, BlockFragment: trailer, EndHeaders: true, EndStream: true})
		})
	}
}

func (p *punctual) write(frames func() error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := frames(); err != nil {
		return err
	}
	return p.out.Flush()
}
