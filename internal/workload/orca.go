package workload

import (
	"context"
	"math"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/orca"
)

// loadWindow is the time constant of the load report: a value of this age has the weight 1/e.
const loadWindow = 500 * time.Millisecond

// loadReport is the load that a server reports by ORCA with every response (gRFC A51). Its
// utilization is the mean number of calls in flight. Clients weight a backend by calls/s over
// utilization (gRFC A58). By Little's law the weight is therefore the inverse of the mean call
// duration including queueing: a backend that is ten times slower receives a tenth of the
// calls. CPU time would not reveal a backend that waits.
type loadReport struct {
	mu       sync.Mutex
	at       time.Time // of the values below
	inFlight int
	mean     float64 // mean number of calls in flight
	rate     float64 // finished calls per second
	failed   float64 // failed calls per second
}

// begin records the start of a call.
func (l *loadReport) begin(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.age(now)
	l.inFlight++
}

// end records the end of a call and returns the current load.
func (l *loadReport) end(now time.Time, err error) (mean, rate, failed float64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.age(now)
	l.inFlight--
	l.rate += 1 / loadWindow.Seconds()
	if err != nil {
		l.failed += 1 / loadWindow.Seconds()
	}
	return l.mean, l.rate, l.failed
}

// age decays all values to now. Callers hold l.mu.
func (l *loadReport) age(now time.Time) {
	keep := math.Exp(-now.Sub(l.at).Seconds() / loadWindow.Seconds())
	l.mean = keep*l.mean + (1-keep)*float64(l.inFlight)
	l.rate, l.failed = keep*l.rate, keep*l.failed
	l.at = now
}

// reportLoad returns server options that add a load report to the trailer of unary answers.
func reportLoad() []grpc.ServerOption {
	var load loadReport
	return []grpc.ServerOption{
		orca.CallMetricsServerOption(nil),
		grpc.ChainUnaryInterceptor(func(ctx context.Context, request any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
			if isInfrastructureMethod(info.FullMethod) {
				return next(ctx, request)
			}
			load.begin(time.Now())
			reply, err := next(ctx, request)
			mean, rate, failed := load.end(time.Now(), err)
			if report := orca.CallMetricsRecorderFromContext(ctx); report != nil {
				report.SetApplicationUtilization(mean)
				report.SetQPS(rate)
				report.SetEPS(failed)
			}
			return reply, err
		}),
	}
}
