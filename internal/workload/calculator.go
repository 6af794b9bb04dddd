package workload

import (
	"context"
	"encoding/json"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	rpclabv1 "rpclab/api/rpclab/v1"
	"rpclab/internal/security"
)

// calculator is the server of the workload calculate.
type calculator struct {
	rpclabv1.UnimplementedCalculatorServiceServer
	guard    *security.Guard
	clients  calculatorClients
	stopping <-chan struct{} // closed when the server begins to shut down
	// begin counts a message of a bidirectional stream as a call and waits for a worker.
	begin func(context.Context) (end func() error, err error)
	// published says that clients are those of the published study.
	published bool
}

// PerformCalculationTo accepts a request. PerformCalculationFrom sends the response.
func (s *calculator) PerformCalculationTo(ctx context.Context, message *rpclabv1.Calculation) (*emptypb.Empty, error) {
	id, err := s.guard.Authenticate(ctx)
	if err != nil {
		return nil, err
	}
	client := s.clients.get(id)
	if !client.begin() && !(s.published && client.awaitStream(ctx)) {
		return nil, status.Errorf(codes.FailedPrecondition, "client %q has no response stream to this server: open performCalculationFrom first", id)
	}
	defer client.end()
	answer, err := s.answer(id, client, message.Signed)
	if err != nil {
		return nil, err
	}
	if err := client.queue(ctx, answer); err != nil {
		return nil, err
	}
	return &emptypb.Empty{}, nil
}

// PerformCalculationFrom sends a client's responses in the order in which they were computed.
func (s *calculator) PerformCalculationFrom(_ *emptypb.Empty, stream grpc.ServerStreamingServer[rpclabv1.Calculation]) error {
	id, err := s.guard.Authenticate(stream.Context())
	if err != nil {
		return err
	}
	client := s.clients.get(id)
	defer s.clients.listen(stream.Context(), client)()
	if err := stream.SendHeader(metadata.MD{}); err != nil {
		return err
	}
	for {
		answer := client.next(stream.Context(), s.stopping)
		if answer == nil {
			if err := stream.Context().Err(); err != nil {
				return status.FromContextError(err).Err()
			}
			return status.Error(codes.Unavailable, "the server is shutting down")
		}
		if err := stream.Send(&rpclabv1.Calculation{Signed: answer}); err != nil {
			client.putBack(answer)
			return err
		}
	}
}

// answerPublished returns the response to the content of a message of the published client.
func (s *calculator) answerPublished(content []byte) ([]byte, error) {
	message, err := parsePublished(content)
	if err != nil {
		return nil, s.refuse(security.Malformed, err)
	}
	text, err := message.answer()
	if err != nil {
		return nil, err
	}
	return s.guard.Sign(text)
}

// answer returns the response to a message.
func (s *calculator) answer(id string, client *calculatorClient, message []byte) ([]byte, error) {
	content, err := s.guard.Verify(id, message)
	if err != nil {
		return nil, err
	}
	if s.published {
		return s.answerPublished(content)
	}
	question, err := parseCalculation(content)
	if err != nil {
		return nil, s.refuse(security.Malformed, err)
	}
	sender, n, err := ParseMessageID(question.ID)
	if err != nil {
		return nil, s.refuse(security.Malformed, err)
	}
	if sender != id {
		return nil, s.refuse(security.Replayed, fmt.Errorf("the message %q arrived in a call of %q", question.ID, id))
	}
	if s.guard.Policy().Signing && !client.markSeen(n) { // without a signature, anybody can choose the number
		return nil, s.refuse(security.Replayed, fmt.Errorf("the message %q is a repetition", question.ID))
	}
	answer, err := question.Answer()
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	text, err := json.Marshal(answer)
	if err != nil {
		return nil, err
	}
	return s.guard.Sign(text)
}

func (s *calculator) refuse(reason security.Reason, err error) error {
	s.guard.CountRejected(reason)
	return security.Rejection{Reason: reason, Err: err}
}
