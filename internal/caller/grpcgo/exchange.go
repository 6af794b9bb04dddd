package grpcgo

import (
	"cmp"
	"context"
	"errors"
	"io"
	"runtime"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"rpclab/internal/measure"
	"rpclab/internal/service/raw"
	"rpclab/internal/service/stream"
)

// Streams makes calls of a streaming method, each a whole stream, as the engine wire does.
type Streams struct {
	*stream.Stream
	path      string
	timeout   time.Duration   // of a call
	responses *measure.Shards // times of the responses
}

// NewStreams returns the calls of a method at an HTTP/2 path.
func NewStreams(s *stream.Stream, path string, timeout time.Duration) *Streams {
	return &Streams{s, path, timeout, measure.NewShards(2*runtime.GOMAXPROCS(0), 0)}
}

// Recorded returns a recorder with the time of each response since its request was sent.
func (s *Streams) Recorded() *measure.Recorder { return s.responses.Merged() }

// Answered is what names the backend that answered a call.
type Answered struct {
	Header, Trailer metadata.MD // without a trailer if the client ended the stream
	Peer            *peer.Peer  // nil: not known
}

// Call makes call n: it sends the message, as often as the call says, and receives until the stream ends.
// decode returns why a response is wrong; the first such error is that of the call, as a [raw.InvalidError].
// For wait see [NewStream].
func (s *Streams) Call(ctx context.Context, channel *grpc.ClientConn, n uint64, message []byte, decode func([]byte) error) (from Answered, wait time.Duration, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// Responses are counted here, not by grpc-go.
	opened, wait, err := NewStream(ctx, channel, &grpc.StreamDesc{ClientStreams: s.Client, ServerStreams: true}, s.path, grpc.ForceCodecV2(raw.Codec{}))
	if err != nil {
		return from, wait, err
	}
	ended, err := s.exchange(cancel, n, opened, message, decode)
	if err != nil {
		return from, wait, atDeadline(ctx, err)
	}
	from.Peer, _ = peer.FromContext(opened.Context()) // the option grpc.Peer is set later when the client ends a stream
	if ended {
		cancel()
		from.Header, _ = opened.Header() // there may be none yet
		return from, wait, nil
	}
	from.Header, err = opened.Header()
	from.Trailer = opened.Trailer()
	return from, wait, err
}

// exchange exchanges the messages of call n. cancel ends the stream; ended reports whether exchange ended it
// well.
func (s *Streams) exchange(cancel context.CancelFunc, n uint64, stream grpc.ClientStream, message []byte, decode func([]byte) error) (ended bool, err error) {
	var over atomic.Bool // MaxDuration is
	if s.MaxDuration > 0 {
		timer := time.AfterFunc(s.MaxDuration, func() { over.Store(true); cancel() })
		defer timer.Stop()
	}
	// The cause of an error of SendMsg is what RecvMsg returns.
	sent, lastSent := 0, time.Now()
	send := func(messages int) {
		for ; messages > 0; messages-- {
			if sent++; stream.SendMsg(message) != nil {
				return
			}
		}
		if sent == s.Messages && !s.KeepOpen {
			_ = stream.CloseSend()
		}
	}
	if s.PingPong || s.Messages <= 1 {
		send(min(s.Messages, 1))
	} else {
		allSent := make(chan struct{})
		go func() { // a server may answer before it has read all messages
			defer close(allSent)
			send(s.Messages)
		}()
		defer func() { cancel(); <-allSent }()
	}
	var invalid error // the first
	for responses := 0; ; {
		response := raw.Response{Decode: decode}
		err := stream.RecvMsg(&response)
		switch {
		case errors.Is(err, io.EOF):
			if err := s.CheckResponses(responses); err != nil {
				return false, cmp.Or(invalid, status.Error(codes.DataLoss, err.Error()))
			}
			return false, invalid
		case err != nil && over.Load():
			if err := s.CheckEnded(responses); err != nil {
				return true, status.Error(codes.DeadlineExceeded, err.Error())
			}
			return true, invalid
		case status.Code(err) == codes.DeadlineExceeded:
			return false, status.Error(codes.DeadlineExceeded, s.Unended(responses, s.timeout))
		case err != nil:
			return false, err
		}
		invalid = cmp.Or(invalid, response.Invalid)
		responses++
		s.responses.RecordResponse(n, time.Since(lastSent))
		if responses == s.MaxResponses {
			return true, invalid
		}
		if s.PingPong && sent < s.Messages {
			lastSent = time.Now()
			send(1)
		}
	}
}
