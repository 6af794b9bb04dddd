package workload

import (
	"cmp"
	"context"
	"errors"
	"io"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	rpclabv1 "rpclab/api/rpclab/v1"
)

// answered is an answer, or why there is none.
type answered struct {
	message []byte
	err     error
}

// PerformCalculationBi works on up to [inLine] messages of a stream at once and answers them
// in their order: a client that does not read is not read from. A message that is refused
// ends the stream.
func (s *calculator) PerformCalculationBi(stream grpc.BidiStreamingServer[rpclabv1.Calculation, rpclabv1.Calculation]) error {
	id, err := s.guard.Admit(stream.Context())
	if err != nil {
		return err
	}
	who := s.clients.get(id)
	who.hold() // so that it stays known
	defer who.end()
	if err := stream.SendHeader(metadata.MD{}); err != nil {
		return err
	}
	line := make(chan chan answered, inLine)
	// Both end with the stream, which ends when this returns.
	go s.receive(stream, id, who, line)
	go s.goodbye(stream.Context(), line)
	for {
		a, err := following(stream.Context(), line)
		if err = cmp.Or(err, a.err); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := stream.Send(&rpclabv1.Calculation{Signed: a.message}); err != nil {
			return err
		}
	}
}

// notice is how long a two-way stream goes on after its client was told that the server goes
// (GOAWAY): one that listens asks elsewhere by then, and has its answers.
const notice = 100 * time.Millisecond

// goodbye puts the end in line, after all answers, when the server leaves.
func (s *calculator) goodbye(ctx context.Context, line chan<- chan answered) {
	select {
	case <-s.leaving:
	case <-ctx.Done():
		return
	}
	end := make(chan answered, 1)
	end <- answered{err: status.Error(codes.Unavailable, "the server was told to stop")}
	timer := time.NewTimer(notice)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return
	}
	select {
	case line <- end:
	case <-ctx.Done():
	}
}

// following is the next answer in line.
func following(ctx context.Context, line <-chan chan answered) (a answered, err error) {
	var next chan answered
	select {
	case next = <-line:
	case <-ctx.Done():
		return a, status.FromContextError(ctx.Err()).Err()
	}
	select {
	case a = <-next:
		return a, nil
	case <-ctx.Done():
		return a, status.FromContextError(ctx.Err()).Err()
	}
}

// receive puts the answers of a stream's messages in line, and its end after them.
func (s *calculator) receive(stream grpc.BidiStreamingServer[rpclabv1.Calculation, rpclabv1.Calculation], id string, who *client, line chan<- chan answered) {
	for {
		message, err := stream.Recv()
		next := make(chan answered, 1)
		if err != nil {
			next <- answered{err: err}
		}
		select {
		case line <- next:
		case <-stream.Context().Done():
			return
		}
		if err != nil {
			return
		}
		go func() { next <- s.work(stream.Context(), id, who, message.Signed) }()
	}
}

// work answers one message of a stream as a call is answered.
func (s *calculator) work(ctx context.Context, id string, who *client, message []byte) (a answered) {
	end, err := s.begin(ctx)
	if err != nil {
		return answered{err: err}
	}
	a.message, a.err = s.answer(id, who, message)
	if late := end(); a.err == nil {
		a.err = late
	}
	return a
}
