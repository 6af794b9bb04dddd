package workload

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	rpclabv1 "rpclab/api/rpclab/v1"
)

// FrameBytes is the length of a message of the model [TCP] in each direction: about the size of a
// unary gRPC call with the same number on a warm HTTP/2 connection.
const FrameBytes = 40

// Frame is a message of the model [TCP]: a number (4 bytes, little-endian); in a response a gRPC
// status code (1 byte) and an identity (up to 35 bytes); zeros.
type Frame [FrameBytes]byte

// NewFrame returns a frame.
func NewFrame(value uint32, code codes.Code, id string) (frame Frame) {
	binary.LittleEndian.PutUint32(frame[:], value)
	frame[4] = byte(code)
	copy(frame[5:], id)
	return frame
}

// Value, Code and ID return the fields of a frame.
func (f *Frame) Value() uint32    { return binary.LittleEndian.Uint32(f[:]) }
func (f *Frame) Code() codes.Code { return codes.Code(f[4]) }
func (f *Frame) ID() string       { return string(bytes.TrimRight(f[5:], "\x00")) }

// serveTCP answers frames over bare connections, the lower bound of every protocol's cost.
func (s *Server) serveTCP(ctx context.Context, listener net.Listener) error {
	var conns sync.Map // open connections
	var serving sync.WaitGroup
	finish := func() {
		conns.Range(func(conn, _ any) bool {
			_ = conn.(net.Conn).SetReadDeadline(time.Now()) // stops reading; the call in flight is answered
			return true
		})
		serving.Wait()
	}
	accept := func(listener net.Listener) error {
		for {
			conn, err := listener.Accept()
			if errors.Is(err, net.ErrClosed) {
				finish()
				return nil
			}
			if err != nil {
				return err
			}
			conns.Store(conn, nil)
			serving.Go(func() {
				s.frames(ctx, conn)
				conns.Delete(conn)
				_ = conn.Close()
			})
		}
	}
	return s.serveUntil(ctx, listener, accept, listener.Close)
}

// frames answers the frames of one connection until it ends.
func (s *Server) frames(ctx context.Context, conn net.Conn) {
	var frame Frame
	for {
		if _, err := io.ReadFull(conn, frame[:]); err != nil {
			if !errors.Is(err, io.EOF) && ctx.Err() == nil {
				s.Log.Info("connection failed", "error", err)
			}
			return
		}
		answer := s.frame(frame.Value())
		if _, err := conn.Write(answer[:]); err != nil {
			return
		}
	}
}

func (s *Server) frame(value uint32) Frame {
	end, err := s.beginCall(context.Background())
	var after *rpclabv1.Number
	if err == nil {
		after, err = chain{}.Increase(context.Background(), &rpclabv1.Number{Value: value})
		if late := end(); err == nil {
			err = late
		}
	}
	return NewFrame(after.GetValue(), status.Code(err), s.ID)
}
