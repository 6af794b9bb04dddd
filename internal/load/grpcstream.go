package load

import (
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
)

// grpcStreams exchanges the messages of calls of a streaming method over grpc-go, as the engine wire
// does.
type grpcStreams struct {
	*stream
	answers *measure.Shards // times of the responses
	reply   *atomic.Int64   // bytes of the last response
}

func newGRPCStreams(s *stream, reply *atomic.Int64) *grpcStreams {
	return &grpcStreams{s, measure.NewShards(2*runtime.GOMAXPROCS(0), 0), reply}
}

// description describes the streams of a call. Responses are counted here, not by grpc-go.
func (s *grpcStreams) description() *grpc.StreamDesc {
	return &grpc.StreamDesc{ClientStreams: s.client, ServerStreams: true}
}

// exchange sends the message of call n, as often as the call says, and receives until the stream
// ends. cancel ends the stream.
func (s *grpcStreams) exchange(cancel context.CancelFunc, n uint64, stream grpc.ClientStream, message []byte) error {
	// The cause of an error of SendMsg is what RecvMsg returns.
	sent, lastSent := 0, time.Now()
	send := func(messages int) {
		for ; messages > 0; messages-- {
			if sent++; stream.SendMsg(message) != nil {
				return
			}
		}
		if sent == s.Messages {
			_ = stream.CloseSend()
		}
	}
	if s.PingPong || s.Messages == 1 {
		send(1)
	} else {
		ended := make(chan struct{})
		go func() { // a server may answer before it has read all messages
			defer close(ended)
			send(s.Messages)
		}()
		defer func() { cancel(); <-ended }()
	}
	for responses := 0; ; {
		var size int
		err := stream.RecvMsg(&size)
		switch {
		case errors.Is(err, io.EOF):
			if err := s.CheckResponses(responses); err != nil {
				return status.Error(codes.DataLoss, err.Error())
			}
			return nil
		case err != nil:
			return err
		}
		responses++
		s.answers.RecordResponse(n, time.Since(lastSent))
		s.reply.Store(int64(size))
		if s.PingPong && sent < s.Messages {
			lastSent = time.Now()
			send(1)
		}
	}
}
