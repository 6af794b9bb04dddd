package workload

import (
	"context"
	"math"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/orca"
)

// remembered is how far back a load report looks: what was that long ago counts e times
// less than what is now.
const remembered = 500 * time.Millisecond

// load is how busy a server is, as it reports by ORCA with every answer (gRFC A51). Its
// utilization is the mean number of calls under way. Clients weigh a backend by calls a
// second over utilization (gRFC A58), so that, by Little's law, the weight is one over the
// mean time that a call takes here, queue and all: a backend that is ten times slower gets
// a tenth of the calls. Processor time would not show a backend that waits.
type load struct {
	mu       sync.Mutex
	at       time.Time // of what follows
	underWay int
	mean     float64 // calls under way
	rate     float64 // calls that ended, a second
	failed   float64 // of those, with an error
}

// begin notes a call that begins.
func (l *load) begin(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.age(now)
	l.underWay++
}

// end notes a call that ends, and says how things are.
func (l *load) end(now time.Time, err error) (mean, rate, failed float64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.age(now)
	l.underWay--
	l.rate += 1 / remembered.Seconds()
	if err != nil {
		l.failed += 1 / remembered.Seconds()
	}
	return l.mean, l.rate, l.failed
}

// age forgets as time passes; call it with l.mu held.
func (l *load) age(now time.Time) {
	keep := math.Exp(-now.Sub(l.at).Seconds() / remembered.Seconds())
	l.mean = keep*l.mean + (1-keep)*float64(l.underWay)
	l.rate, l.failed = keep*l.rate, keep*l.failed
	l.at = now
}

// reportLoad are the server's options that put a report into the trailer of every answer
// to the workload's unary calls.
func reportLoad() []grpc.ServerOption {
	var l load
	return []grpc.ServerOption{
		orca.CallMetricsServerOption(nil),
		grpc.ChainUnaryInterceptor(func(ctx context.Context, request any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
			if ofServer(info.FullMethod) {
				return next(ctx, request)
			}
			l.begin(time.Now())
			reply, err := next(ctx, request)
			mean, rate, failed := l.end(time.Now(), err)
			if report := orca.CallMetricsRecorderFromContext(ctx); report != nil {
				report.SetApplicationUtilization(mean)
				report.SetQPS(rate)
				report.SetEPS(failed)
			}
			return reply, err
		}),
	}
}
