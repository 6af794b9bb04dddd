package grpcgo

import (
	"context"
	"time"

	"google.golang.org/grpc"
)

// nonFatal is the code after which another attempt is worth while: the one that
// [rpclab/internal/route/settings] names in its hedgingPolicy.
const nonFatal = "UNAVAILABLE"

// outcome is what became of an attempt.
type outcome struct{ backend, code, message string }

// hedge makes a call as gRFC A6 has it: an attempt, another one after each delay without
// an answer, or at once after a non-fatal code; the first answer or fatal code counts and
// cancels the rest. grpc-go (1.85) reads no hedgingPolicy, so it is done here. There is
// neither throttling nor push-back, as no backend of the lab asks for them.
func (s *session) hedge(ctx context.Context, channel *grpc.ClientConn, n uint64) (backend, code, message string) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	outcomes := make(chan outcome, s.job.Hedge.Attempts)
	attempt := func() {
		s.after.Go(func() {
			var o outcome
			o.backend, o.code, o.message = s.invoke(ctx, channel, n)
			outcomes <- o
		})
	}
	attempt()
	delay := time.NewTimer(s.job.Hedge.Delay)
	defer delay.Stop()
	var last outcome
	for begun, ended := 1, 0; ended < begun; {
		select {
		case last = <-outcomes:
			if ended++; last.code != nonFatal {
				return last.backend, last.code, last.message
			}
		case <-delay.C:
		}
		if begun < s.job.Hedge.Attempts {
			attempt()
			begun++
			delay.Reset(s.job.Hedge.Delay)
		}
	}
	return last.backend, last.code, last.message
}
