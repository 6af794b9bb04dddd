package wire

import (
	"crypto/tls"
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	rpclabv1 "rpclab/api/rpclab/v1"
	"rpclab/internal/caller"
	"rpclab/internal/caller/calculator"
	engine "rpclab/internal/wire"
	"rpclab/internal/wire/h2"
	"rpclab/internal/workload"
)

// talkOf is how a calculator is called, and how it is connected to.
func talkOf(job caller.Job) (call engine.Call, secured *tls.Config, err error) {
	how := *job.Calculations
	switch {
	case job.Workload.Calculate == nil:
		return call, nil, errors.New("a style of calculations goes with the workload calculate")
	case how.Ahead != "":
		return call, nil, errors.New("users of the caller wire wait for their answers: leave out ahead, or take grpc-go")
	case job.Compress:
		return call, nil, errors.New("the caller wire does not compress what it sends: leave out compress, or take grpc-go")
	}
	client, err := calculator.New(how, *job.Workload.Calculate)
	if err != nil {
		return call, nil, err
	}
	talk := &engine.Talk{
		Ask: func(to []byte) ([]byte, uint64, error) {
			number, message, err := client.Question()
			if err != nil {
				return to, 0, err
			}
			to, err = proto.MarshalOptions{}.MarshalAppend(to, &rpclabv1.Calculation{Signed: message})
			return to, number, err
		},
		Hear: func(answer []byte, backend string) (uint64, error, error) {
			message := &rpclabv1.Calculation{}
			if err := proto.Unmarshal(answer, message); err != nil {
				return 0, nil, fmt.Errorf("the answer is no %T: %w", message, err)
			}
			return client.Answer(message.Signed, backend)
		},
	}
	call = engine.Call{Talk: talk, Backend: workload.Trailer}
	switch how.Style {
	case caller.Bidi:
		call.Method, talk.Streams = rpclabv1.CalculatorService_PerformCalculationBi_FullMethodName, max(1, how.Streams)
	case caller.UnaryStream:
		call.Method, talk.From = rpclabv1.CalculatorService_PerformCalculationTo_FullMethodName, rpclabv1.CalculatorService_PerformCalculationFrom_FullMethodName
	default:
		return call, nil, fmt.Errorf("no style %q: take one of %v", how.Style, caller.Styles)
	}
	metadata := func() (fields []h2.Field, err error) {
		pairs, err := client.Metadata()
		for i := 0; i+1 < len(pairs); i += 2 {
			fields = append(fields, h2.Field{Name: pairs[i], Value: pairs[i+1]})
		}
		return fields, err
	}
	if how.JWT == caller.Every {
		talk.Metadata = metadata
	} else if call.Metadata, err = metadata(); err != nil {
		return call, nil, err
	}
	secured, err = how.Party.ClientTLS()
	return call, secured, err
}
