package kubernetes

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"
)

// ending is a context at the moment of its end: Err does not say so yet.
type ending struct{ context.Context }

func (ending) Err() error { return nil }

// closing notes that a connection was closed.
type closing struct {
	net.Conn
	closed chan struct{}
}

func (c closing) Close() error {
	close(c.closed)
	return nil
}

func TestATunnelThatOpensAtTheEndIsClosed(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	end()
	returned, conn := make(chan struct{}), closing{closed: make(chan struct{})}
	_, _ = untilEnd(ending{ctx}, func() (net.Conn, error) {
		<-returned
		return conn, nil
	})
	close(returned)
	select {
	case <-conn.closed:
	case <-time.After(10 * time.Second):
		t.Error("nobody closes the connection")
	}
}

func TestATunnelThatCannotOpenIsAnError(t *testing.T) {
	refused := errors.New("refused")
	if _, err := untilEnd(t.Context(), func() (net.Conn, error) { return nil, refused }); !errors.Is(err, refused) {
		t.Errorf("error %v, want %v", err, refused)
	}
}
