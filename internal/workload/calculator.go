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

// calculator is the server of study 4.
type calculator struct {
	rpclabv1.UnimplementedCalculatorServiceServer
	guard   *security.Guard
	clients clients
	leaving <-chan struct{} // closed when it is told to stop
	// begin has each message of a two-way stream counted, and worked on as a call is.
	begin func(context.Context) (end func() error, err error)
}

// PerformCalculationTo takes a message whose answer goes another way.
func (s *calculator) PerformCalculationTo(ctx context.Context, message *rpclabv1.Calculation) (*emptypb.Empty, error) {
	id, err := s.guard.Admit(ctx)
	if err != nil {
		return nil, err
	}
	who := s.clients.get(id)
	if !who.begin() {
		return nil, status.Errorf(codes.FailedPrecondition, "client %q has no stream of answers here: open performCalculationFrom first", id)
	}
	defer who.end()
	answer, err := s.answer(id, who, message.Signed)
	if err != nil {
		return nil, err
	}
	if err := who.queue(ctx, answer); err != nil {
		return nil, err
	}
	return &emptypb.Empty{}, nil
}

// PerformCalculationFrom sends a client's answers, in the order in which they were ready.
func (s *calculator) PerformCalculationFrom(_ *emptypb.Empty, stream grpc.ServerStreamingServer[rpclabv1.Calculation]) error {
	id, err := s.guard.Admit(stream.Context())
	if err != nil {
		return err
	}
	who := s.clients.get(id)
	defer s.clients.listen(stream.Context(), who)()
	if err := stream.SendHeader(metadata.MD{}); err != nil {
		return err
	}
	for {
		answer := who.next(stream.Context(), s.leaving)
		if answer == nil {
			if err := stream.Context().Err(); err != nil {
				return status.FromContextError(err).Err()
			}
			return status.Error(codes.Unavailable, "the server was told to stop")
		}
		if err := stream.Send(&rpclabv1.Calculation{Signed: answer}); err != nil {
			who.putBack(answer)
			return err
		}
	}
}

// answer is what to send to a message.
func (s *calculator) answer(id string, who *client, message []byte) ([]byte, error) {
	content, err := s.guard.Read(id, message)
	if err != nil {
		return nil, err
	}
	question, err := parseCalculation(content)
	if err != nil {
		return nil, s.refuse(security.Garbled, err)
	}
	of, n, err := ParseMessageID(question.ID)
	if err != nil {
		return nil, s.refuse(security.Garbled, err)
	}
	if of != id {
		return nil, s.refuse(security.Replayed, fmt.Errorf("the message %q came with a call of %q", question.ID, id))
	}
	if s.guard.Policy().Signing && !who.take(n) { // else anybody may have written the number
		return nil, s.refuse(security.Replayed, fmt.Errorf("the message %q has come before", question.ID))
	}
	answer, err := question.Answer()
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	text, err := json.Marshal(answer)
	if err != nil {
		return nil, err
	}
	return s.guard.Write(text)
}

func (s *calculator) refuse(reason security.Reason, err error) error {
	s.guard.Refuse(reason)
	return security.Refusal{Reason: reason, Err: err}
}
