package caller

import (
	"fmt"
	"time"

	"rpclab/internal/measure"
)

// Follow makes calls one after the other, as the user of a flow does, until one of them fails. do makes a call, by its
// index in names.
func Follow(names []string, do func(call int) Outcome) Outcome {
	start := time.Now()
	flow := Outcome{Code: measure.OK, Backends: map[string]uint64{}}
	for i, name := range names {
		o := do(i)
		flow.Steps = append(flow.Steps, measure.Step{Name: name, Code: o.Code, Done: time.Since(start)})
		if i == 0 {
			flow.Wait = o.Wait
		}
		if o.Code != measure.OK {
			flow.Code, flow.Message = o.Code, fmt.Sprintf("step %s: %s", name, o.Message)
			return flow
		}
		flow.Backends[o.Backend]++
	}
	return flow
}
