package load

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
	"google.golang.org/grpc/status"

	"rpclab/internal/measure"
	"rpclab/internal/service/raw"
)

// grpcStreams exchanges the messages of calls of a streaming method over grpc-go, as the engine wire
// does.
type grpcStreams struct {
	*stream
	timeout time.Duration   // of a call
	answers *measure.Shards // times of the responses
	reply   *atomic.Int64   // bytes of the last response
	decode  func([]byte) error
}

func newGRPCStreams(s *stream, timeout time.Duration, reply *atomic.Int64, decode func([]byte) error) *grpcStreams {
	return &grpcStreams{s, timeout, measure.NewShards(2*runtime.GOMAXPROCS(0), 0), reply, decode}
}

// description describes the streams of a call. Responses are counted here, not by grpc-go.
func (s *grpcStreams) description() *grpc.StreamDesc {
	return &grpc.StreamDesc{ClientStreams: s.client, ServerStreams: true}
}

// exchange sends the message of call n, as often as the call says, and receives until the stream
// ends. cancel ends the stream; ended reports whether exchange ended it well.
func (s *grpcStreams) exchange(cancel context.CancelFunc, n uint64, stream grpc.ClientStream, message []byte) (ended bool, err error) {
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
		response := raw.Response{Decode: s.decode}
		err := stream.RecvMsg(&response)
		switch {
		case errors.Is(err, io.EOF):
			if err := s.CheckResponses(responses); err != nil {
				return false, cmp.Or(invalid, status.Error(codes.DataLoss, err.Error()))
			}
			return false, invalid
		case err != nil && over.Load():
			return true, invalid
		case status.Code(err) == codes.DeadlineExceeded:
			return false, status.Error(codes.DeadlineExceeded, s.Unended(responses, s.timeout))
		case err != nil:
			return false, err
		}
		invalid = cmp.Or(invalid, response.Invalid)
		responses++
		s.answers.RecordResponse(n, time.Since(lastSent))
		s.reply.Store(int64(response.Size))
		if responses == s.MaxResponses {
			return true, invalid
		}
		if s.PingPong && sent < s.Messages {
			lastSent = time.Now()
			send(1)
		}
	}
}
