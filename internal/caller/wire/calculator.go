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

// calculatorCall returns the engine's call of a calculator and its TLS configuration.
func calculatorCall(job caller.Job) (call engine.Call, secured *tls.Config, err error) {
	config := *job.Calculator
	switch {
	case job.Workload.Calculate == nil:
		return call, nil, errors.New("caller.style needs the workload calculate: set it, or leave out style")
	case config.Ahead != "":
		return call, nil, errors.New("the caller wire does not support ahead: leave it out, or use grpc-go")
	case job.Compress:
		return call, nil, errors.New("the caller wire does not support compress: leave it out, or use grpc-go")
	}
	client, err := calculator.New(config, *job.Workload.Calculate)
	if err != nil {
		return call, nil, err
	}
	session := &engine.Session{
		AppendRequest: func(to []byte) ([]byte, uint64, error) {
			number, message, err := client.NextRequest()
			if err != nil {
				return to, 0, err
			}
			to, err = proto.MarshalOptions{}.MarshalAppend(to, &rpclabv1.Calculation{Signed: message})
			return to, number, err
		},
		MatchResponse: func(answer []byte, backend string) (uint64, error, error) {
			message := &rpclabv1.Calculation{}
			if err := proto.Unmarshal(answer, message); err != nil {
				return 0, nil, fmt.Errorf("the response is not a %T: %w", message, err)
			}
			return client.ReadResponse(message.Signed, backend)
		},
	}
	call = engine.Call{Session: session, Backend: workload.BackendTrailer}
	switch config.Style {
	case caller.Bidi:
		call.Method, session.Streams = rpclabv1.CalculatorService_PerformCalculationBi_FullMethodName, max(1, config.Streams)
	case caller.UnaryStream:
		call.Method, session.ResponseMethod = rpclabv1.CalculatorService_PerformCalculationTo_FullMethodName, rpclabv1.CalculatorService_PerformCalculationFrom_FullMethodName
	default:
		return call, nil, fmt.Errorf("unknown style %q: use one of %v", config.Style, caller.Styles)
	}
	metadata := func() (fields []h2.Field, err error) {
		pairs, err := client.Metadata()
		for i := 0; i+1 < len(pairs); i += 2 {
			fields = append(fields, h2.Field{Name: pairs[i], Value: pairs[i+1]})
		}
		return fields, err
	}
	if config.JWT == caller.TokenPerCall {
		session.Metadata = metadata
	} else if call.Metadata, err = metadata(); err != nil {
		return call, nil, err
	}
	secured, err = config.Security.ClientTLS()
	return call, secured, err
}
