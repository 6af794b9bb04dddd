package wiretest

import (
	"cmp"
	"slices"
	"time"
)

// Scenarios returns all scenarios, first those of valid servers.
func Scenarios() []Scenario {
	return slices.Concat(
		valid(validSettings()), valid(validFlowControl()), valid(validFrames()), valid(validHeaders()),
		valid(validWrites()), valid(validEnds()), valid(validStatus()),
		invalid(invalidStarts()), invalid(invalidLengths()), invalid(invalidStreams()),
		invalid(invalidBlocks()), invalid(invalidFields()), invalid(invalidMessages()),
	)
}

func valid(all []Scenario) []Scenario {
	for i := range all {
		s := &all[i]
		s.Valid = true
		if s.Want.Codes == nil {
			s.Want.Codes = []string{"OK"}
		}
		s.fill(24, 4)
	}
	return all
}

func invalid(all []Scenario) []Scenario {
	for i := range all {
		s := &all[i]
		if s.Want.Codes == nil {
			s.Want.Codes = broken
		}
		s.fill(2, 1)
	}
	return all
}

func (s *Scenario) fill(calls, inFlight int) {
	s.Calls = cmp.Or(s.Calls, calls)
	s.InFlight = cmp.Or(s.InFlight, inFlight)
	s.Timeout = cmp.Or(s.Timeout, time.Minute) // on a busy machine, too
	s.MaxMessage = cmp.Or(s.MaxMessage, 4<<20)
	s.name = cmp.Or(s.name, len("rpclab"))
	s.answer = cmp.Or(s.answer, len("Hello, rpclab"))
}
