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

// response is a response, or why there is none.
type response struct {
	message []byte
	err     error
}

// PerformCalculationBi works on up to [maxQueuedResponses] messages of a stream at once and
// responds in order. It stops reading while a client does not read. A rejected message ends
// the stream.
func (s *calculator) PerformCalculationBi(stream grpc.BidiStreamingServer[rpclabv1.Calculation, rpclabv1.Calculation]) error {
	id, err := s.guard.Authenticate(stream.Context())
	if err != nil {
		return err
	}
	client := s.clients.get(id)
	client.hold() // so that the server does not forget the client
	defer client.end()
	if err := stream.SendHeader(metadata.MD{}); err != nil {
		return err
	}
	queue := make(chan chan response, maxQueuedResponses)
	// Both goroutines end with the stream, when this method returns.
	go s.receive(stream, id, client, queue)
	go s.endOnShutdown(stream.Context(), queue)
	for {
		answer, err := nextResponse(stream.Context(), queue)
		if err = cmp.Or(err, answer.err); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := stream.Send(&rpclabv1.Calculation{Signed: answer.message}); err != nil {
			return err
		}
	}
}

// goAwayDelay is how long a bidirectional stream continues after GOAWAY. A client that reacts to
// GOAWAY opens another stream within this time, on a busy machine too.
const goAwayDelay = time.Second

// endOnShutdown ends the stream after all queued responses when the server shuts down.
func (s *calculator) endOnShutdown(ctx context.Context, queue chan<- chan response) {
	select {
	case <-s.stopping:
	case <-ctx.Done():
		return
	}
	end := make(chan response, 1)
	end <- response{err: status.Error(codes.Unavailable, "the server is shutting down")}
	timer := time.NewTimer(goAwayDelay)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return
	}
	select {
	case queue <- end:
	case <-ctx.Done():
	}
}

// nextResponse waits for the next response in order.
func nextResponse(ctx context.Context, queue <-chan chan response) (answer response, err error) {
	var next chan response
	select {
	case next = <-queue:
	case <-ctx.Done():
		return answer, status.FromContextError(ctx.Err()).Err()
	}
	select {
	case answer = <-next:
		return answer, nil
	case <-ctx.Done():
		return answer, status.FromContextError(ctx.Err()).Err()
	}
}

// receive starts work on each message of a stream and queues the response. At the end of the stream
// it queues the stream's error.
func (s *calculator) receive(stream grpc.BidiStreamingServer[rpclabv1.Calculation, rpclabv1.Calculation], id string, client *calculatorClient, queue chan<- chan response) {
	for {
		message, err := stream.Recv()
		next := make(chan response, 1)
		if err != nil {
			next <- response{err: err}
		}
		select {
		case queue <- next:
		case <-stream.Context().Done():
			return
		}
		if err != nil {
			return
		}
		go func() { next <- s.workOn(stream.Context(), id, client, message.Signed) }()
	}
}

// workOn answers one message of a stream, as if it were a call.
func (s *calculator) workOn(ctx context.Context, id string, client *calculatorClient, message []byte) (answer response) {
	end, err := s.begin(ctx)
	if err != nil {
		return response{err: err}
	}
	answer.message, answer.err = s.answer(id, client, message)
	if late := end(); answer.err == nil {
		answer.err = late
	}
	return answer
}
