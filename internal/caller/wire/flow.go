package wire

import "rpclab/internal/service"

// flow has the answers of the flows in flight. Only the engine's thread uses it during a load.
type flow struct {
	compiled *service.Flow
	calls    uint64 // of a flow
	byNumber map[uint64]service.Answers
	current  map[int]uint64 // the number of the latest flow of each worker
}

func newFlow(compiled *service.Flow, calls int) *flow {
	f := &flow{compiled: compiled, calls: uint64(calls)}
	f.clear()
	return f
}

// clear forgets the flows of a load.
func (f *flow) clear() { f.byNumber, f.current = map[uint64]service.Answers{}, map[int]uint64{} }

// kindOf splits a call's number into its index in the flow and the flow's number.
func (f *flow) kindOf(number uint64) (kind int, n uint64) {
	return int(number % f.calls), number / f.calls
}

// begin drops the answers of the worker's previous flow, and makes room for those of flow n.
func (f *flow) begin(n uint64, worker int) {
	if before, ok := f.current[worker]; ok && before != n {
		delete(f.byNumber, before)
	}
	f.current[worker] = n
	if f.byNumber[n] == nil {
		f.byNumber[n] = service.Answers{}
	}
}

// step returns a call of the flow. The step of a nil flow takes no values.
func (f *flow) step(call int) step { return step{f, call} }

// step is a call of a flow.
type step struct {
	flow *flow // nil: there is none
	call int
}

func (s step) takesValues() bool { return s.flow != nil }

// values returns what the call takes from the answers before it.
func (s step) values(n uint64, worker int) (service.Values, error) {
	if s.flow == nil {
		return nil, nil
	}
	s.flow.begin(n, worker)
	return s.flow.compiled.Values(s.call, s.flow.byNumber[n])
}

func (s step) isRead() bool {
	if s.flow == nil {
		return false
	}
	answer, _ := s.flow.compiled.Reads(s.call)
	return answer
}

// add adds the answer to the call.
func (s step) add(n uint64, answer any) { s.flow.compiled.Add(s.flow.byNumber[n], s.call, answer) }
