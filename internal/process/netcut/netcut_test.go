package netcut

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// echo returns a listener whose connections send back what they receive, and how many connections it has accepted.
func echo(t *testing.T) (*Listener, <-chan *Conn) {
	t.Helper()
	tcp, err := Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener, accepted := New(tcp), make(chan *Conn, 10)
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := listener.AcceptConn()
			if err != nil {
				return
			}
			accepted <- conn
			serving.Go(func() {
				if _, err := io.Copy(struct{ io.Writer }{conn}, struct{ io.Reader }{conn}); !errors.Is(err, os.ErrDeadlineExceeded) {
					_ = conn.Close()
				}
			})
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		listener.Reset()
		serving.Wait()
	})
	return listener, accepted
}

func dial(t *testing.T, to net.Addr) net.Conn {
	t.Helper()
	conn, err := net.DialTimeout("tcp", to.String(), 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// hears writes a byte and waits for its echo.
func hears(conn net.Conn, within time.Duration) error {
	if _, err := conn.Write([]byte{1}); err != nil {
		return err
	}
	_ = conn.SetReadDeadline(time.Now().Add(within))
	_, err := conn.Read(make([]byte, 1))
	return err
}

func TestDroppedPacketsArriveWhenTheyPassAgain(t *testing.T) {
	listener, accepted := echo(t)
	client := dial(t, listener.Addr())
	if err := hears(client, 10*time.Second); err != nil {
		t.Fatal(err)
	}
	server := <-accepted
	if err := listener.Drop(true); err != nil {
		t.Fatal(err)
	}
	const noAnswer = 300 * time.Millisecond
	if err := hears(client, noAnswer); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("an echo through a cut network ends with %v, want no answer", err)
	}
	if conn, err := net.DialTimeout("tcp", listener.Addr().String(), noAnswer); err == nil {
		_ = conn.Close()
		t.Error("a client can connect through a cut network")
	} else if timeout, ok := errors.AsType[net.Error](err); !ok || !timeout.Timeout() {
		t.Errorf("a client connects with %v, want no answer", err)
	}
	written := make(chan error, 1)
	go func() {
		_, err := server.Write([]byte{2})
		written <- err
	}()
	select {
	case err := <-written:
		t.Errorf("a write ends with %v while packets are dropped", err)
	case <-time.After(noAnswer):
	}
	if err := listener.Drop(false); err != nil {
		t.Fatal(err)
	}
	if err := <-written; err != nil {
		t.Error(err)
	}
	_ = client.SetReadDeadline(time.Now().Add(10 * time.Second))
	if _, err := io.ReadFull(client, make([]byte, 2)); err != nil { // the echo and what the server wrote
		t.Errorf("when packets pass again: %v", err)
	}
	if err := hears(dial(t, listener.Addr()), 10*time.Second); err != nil {
		t.Errorf("a new client, when packets pass again: %v", err)
	}
}

func TestResetEndsOpenConnectionsOnly(t *testing.T) {
	listener, accepted := echo(t)
	first := dial(t, listener.Addr())
	<-accepted
	listener.Reset()
	if err := hears(first, 10*time.Second); !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, syscall.EPIPE) {
		t.Errorf("a reset connection ends with %v, want ECONNRESET", err)
	}
	if err := hears(dial(t, listener.Addr()), 10*time.Second); err != nil {
		t.Errorf("a new connection: %v", err)
	}
}

func TestAConnectionThatClosesWhilePacketsAreDroppedEndsItsWrites(t *testing.T) {
	listener, accepted := echo(t)
	dial(t, listener.Addr())
	server := <-accepted
	if err := listener.Drop(true); err != nil {
		t.Fatal(err)
	}
	written := make(chan error, 1)
	go func() {
		_, err := server.Write([]byte{1})
		written <- err
	}()
	_ = server.Close()
	if err := <-written; !errors.Is(err, net.ErrClosed) {
		t.Errorf("a write to a closed connection ends with %v, want %v", err, net.ErrClosed)
	}
	listener.mu.Lock()
	defer listener.mu.Unlock()
	if open := len(listener.open); open != 0 {
		t.Errorf("%d connections are kept after their end", open)
	}
}

func TestADeadlineEndsAWriteWhilePacketsAreDropped(t *testing.T) {
	const soon = 100 * time.Millisecond
	for name, test := range map[string]struct{ before, during func(*Conn) error }{
		"of writes": {before: func(c *Conn) error { return c.SetWriteDeadline(time.Now().Add(soon)) }},
		"of both":   {before: func(c *Conn) error { return c.SetDeadline(time.Now().Add(soon)) }},
		"set while it waits": {
			before: func(c *Conn) error { return c.SetWriteDeadline(time.Now().Add(time.Hour)) },
			during: func(c *Conn) error { return c.SetWriteDeadline(time.Now()) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			listener, accepted := echo(t)
			dial(t, listener.Addr())
			server := <-accepted
			if err := errors.Join(listener.Drop(true), test.before(server)); err != nil {
				t.Fatal(err)
			}
			written := make(chan error, 1)
			go func() {
				_, err := server.Write([]byte{1})
				written <- err
			}()
			if test.during != nil {
				<-time.After(soon)
				if err := test.during(server); err != nil {
					t.Fatal(err)
				}
			}
			select {
			case err := <-written:
				if !errors.Is(err, os.ErrDeadlineExceeded) {
					t.Errorf("the write ends with %v, want %v", err, os.ErrDeadlineExceeded)
				}
			case <-time.After(10 * time.Second):
				t.Error("the write waits after its deadline")
			}
		})
	}
}
