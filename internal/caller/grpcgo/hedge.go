package grpcgo

import (
	"context"
	"time"

	"google.golang.org/grpc"
)

// nonFatalCode is the code after which another attempt is sent, as in the hedgingPolicy of
// [rpclab/internal/route/settings].
const nonFatalCode = "UNAVAILABLE"

// outcome is the result of an attempt.
type outcome struct{ backend, code, message string }

// hedge makes a call according to gRFC A6: one attempt, then another after each delay without an
// answer, or at once after a non-fatal code. The first answer or fatal code counts and cancels
// the other attempts. grpc-go (1.85) ignores hedgingPolicy, so hedge implements it, without
// throttling and push-back, which no backend of rpclab uses.
func (s *session) hedge(ctx context.Context, channel *grpc.ClientConn, n uint64) (backend, code, message string) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	outcomes := make(chan outcome, s.job.Hedge.Attempts)
	attempt := func() {
		s.background.Go(func() {
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
			if ended++; last.code != nonFatalCode {
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
