package workload

import (
	"context"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	rpclabv1 "rpclab/api/rpclab/v1"
	"rpclab/api/studies/streams"
)

// intercept adds the server's identity to every response and applies the worker limit and the fault.
func (s *Server) intercept(ctx context.Context, request any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (reply any, err error) {
	if err := grpc.SetTrailer(ctx, metadata.Pairs(BackendTrailer, s.ID)); err != nil {
		return nil, err
	}
	if isInfrastructureMethod(info.FullMethod) {
		return next(ctx, request)
	}
	end, err := s.beginCall(ctx)
	if err != nil {
		return nil, err
	}
	reply, err = next(ctx, request)
	if late := end(); err == nil {
		err = late
	}
	return reply, err
}

// interceptStream does the same for streams, where each message is a call. The identity is in the
// header too, because the trailer follows all messages.
func (s *Server) interceptStream(service any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
	stream.SetTrailer(metadata.Pairs(BackendTrailer, s.ID))
	if isInfrastructureMethod(info.FullMethod) {
		return next(service, stream)
	}
	if err := stream.SetHeader(metadata.Pairs(BackendTrailer, s.ID)); err != nil {
		return err
	}
	switch info.FullMethod {
	case rpclabv1.CalculatorService_PerformCalculationFrom_FullMethodName, rpclabv1.CalculatorService_PerformCalculationBi_FullMethodName,
		streams.CalculatorService_PerformCalculationFrom_FullMethodName, streams.CalculatorService_PerformCalculationBi_FullMethodName:
		return next(service, stream) // the calculator counts these calls
	}
	m := &messageStream{ServerStream: stream, server: s}
	defer m.finish()
	return next(service, m)
}

// messageStream treats each message of a stream as a call, which lasts from reading the message
// until its response is sent or the next message is read.
type messageStream struct {
	grpc.ServerStream
	server *Server
	end    func() error // ends the current call; nil: none
}

func (m *messageStream) finish() error {
	if m.end == nil {
		return nil
	}
	end := m.end
	m.end = nil
	return end()
}

// RecvMsg implements [grpc.ServerStream].
func (m *messageStream) RecvMsg(into any) error {
	if err := m.finish(); err != nil {
		return err
	}
	if err := m.ServerStream.RecvMsg(into); err != nil {
		return err
	}
	var err error
	m.end, err = m.server.beginCall(m.Context())
	return err
}

// SendMsg implements [grpc.ServerStream].
func (m *messageStream) SendMsg(reply any) error {
	if err := m.finish(); err != nil {
		return err
	}
	return m.ServerStream.SendMsg(reply)
}

// beginCall counts a call and waits for a worker. end applies the fault's delay and releases the
// worker: a slow call keeps its worker, so that queues form.
func (s *Server) beginCall(ctx context.Context) (end func() error, err error) {
	s.begun.Add(1)
	fault := *s.fault.Load()
	if fault.Fails() {
		return nil, status.Errorf(fault.Code, "%s is in an error loop", s.ID)
	}
	if s.workerSlots != nil {
		select {
		case s.workerSlots <- struct{}{}:
		case <-ctx.Done():
			return nil, status.FromContextError(ctx.Err()).Err()
		}
	}
	began := time.Now()
	return func() error {
		err := sleep(ctx, fault.Delay(time.Since(began)))
		if s.workerSlots != nil {
			<-s.workerSlots
		}
		return err
	}, nil
}

// isInfrastructureMethod reports whether a method is health or reflection, not the workload.
func isInfrastructureMethod(method string) bool { return strings.HasPrefix(method, "/grpc.") }
