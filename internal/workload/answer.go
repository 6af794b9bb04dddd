package workload

import (
	"context"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	rpclabv1 "rpclab/api/rpclab/v1"
)

// answer is what every call goes through: the answer says whose it is, and what ails the
// server shows.
func (s *Server) answer(ctx context.Context, request any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (reply any, err error) {
	if err := grpc.SetTrailer(ctx, metadata.Pairs(Trailer, s.ID)); err != nil {
		return nil, err
	}
	if ofServer(info.FullMethod) {
		return next(ctx, request)
	}
	end, err := s.begin(ctx)
	if err != nil {
		return nil, err
	}
	reply, err = next(ctx, request)
	if late := end(); err == nil {
		err = late
	}
	return reply, err
}

// answerStream is answer for a stream: each of its messages is a call. The identity is in the
// header, too: a trailer comes too late for them.
func (s *Server) answerStream(service any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
	stream.SetTrailer(metadata.Pairs(Trailer, s.ID))
	if ofServer(info.FullMethod) {
		return next(service, stream)
	}
	if err := stream.SetHeader(metadata.Pairs(Trailer, s.ID)); err != nil {
		return err
	}
	switch info.FullMethod {
	case rpclabv1.CalculatorService_PerformCalculationFrom_FullMethodName, rpclabv1.CalculatorService_PerformCalculationBi_FullMethodName:
		return next(service, stream) // the one's calls are unary, the other's are worked on at once
	}
	m := &messages{ServerStream: stream, server: s}
	defer m.finish()
	return next(service, m)
}

// messages are those of one stream. The work on one lasts from when it is read until its
// answer is sent, or the next one read.
type messages struct {
	grpc.ServerStream
	server *Server
	end    func() error // of the work on the last message; nil: it is done
}

func (m *messages) finish() error {
	if m.end == nil {
		return nil
	}
	end := m.end
	m.end = nil
	return end()
}

// RecvMsg implements [grpc.ServerStream].
func (m *messages) RecvMsg(into any) error {
	if err := m.finish(); err != nil {
		return err
	}
	if err := m.ServerStream.RecvMsg(into); err != nil {
		return err
	}
	var err error
	m.end, err = m.server.begin(m.Context())
	return err
}

// SendMsg implements [grpc.ServerStream].
func (m *messages) SendMsg(reply any) error {
	if err := m.finish(); err != nil {
		return err
	}
	return m.ServerStream.SendMsg(reply)
}

// begin counts a call and waits for a worker. The function returned makes a slow server's
// answer wait, and gives the worker back: what is slow keeps its worker, so that queues form.
func (s *Server) begin(ctx context.Context) (end func() error, err error) {
	s.served.Add(1)
	ails := *s.ails.Load()
	if ails.Code != 0 {
		return nil, status.Errorf(ails.Code, "%s is in an error loop, as it was told", s.ID)
	}
	if s.room != nil {
		select {
		case s.room <- struct{}{}:
		case <-ctx.Done():
			return nil, status.FromContextError(ctx.Err()).Err()
		}
	}
	began := time.Now()
	return func() error {
		err := wait(ctx, ails.more(time.Since(began)))
		if s.room != nil {
			<-s.room
		}
		return err
	}, nil
}

// ofServer says whether a method is the server's own, not the workload's.
func ofServer(method string) bool { return strings.HasPrefix(method, "/grpc.") }

// wait returns after d, or with the status of a call that was given up before.
func wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return status.FromContextError(ctx.Err()).Err()
	}
}
