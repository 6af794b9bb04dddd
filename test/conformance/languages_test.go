package conformance

import (
	"slices"
	"strings"
	"testing"

	"rpclab/internal/language"
	"rpclab/internal/testkit"
)

// slow are the models for which all calls would take minutes.
var slow = []string{"grpc-sync", "grpc-aio", "grpc-servlet"}

// TestServersAnswerCallsAndCommands starts each server once, sends every command of a supervisor and checks all answers.
func TestServersAnswerCallsAndCommands(t *testing.T) {
	eachServer(t, func(t *testing.T, m language.Model, command []string) {
		addr := free(t)
		// The last of repeated flags counts.
		p, c, out := supervisedOn(t, addr, m, append(command, "--id", "a", "--delay", "1m0s", "--delay", "0s"))
		t.Run("the edges of the contract", func(t *testing.T) { handlesEdgeCases(t, p, c, out) })
		t.Run("faults", func(t *testing.T) {
			order(t, p, `{"fault": {}}`)
			obeysFaultCommands(t, p, c, out)
		})
		t.Run("every workload", func(t *testing.T) { answersEveryWorkload(t, m, addr) })
		t.Run("wrong requests", func(t *testing.T) { rejectsInvalidCalls(t, m, addr) })
		if !m.REST {
			t.Run("streams", func(t *testing.T) { answersStreams(t, m, addr) })
			t.Run("many calls at once", func(t *testing.T) {
				calls := uint64(calls)
				if slices.Contains(slow, m.Name) {
					calls = fewCalls
				}
				answered(t, load(t, addr, greet(), calls), []string{"b"}, calls)
			})
		}
		t.Run("the end of its supervisor", func(t *testing.T) { exitsWithItsSupervisor(t, p) })
	})
}

// eachServer runs a test for every server model of every language, Go included, in parallel.
func eachServer(t *testing.T, test func(t *testing.T, m language.Model, command []string)) {
	eachServerOf(t, nil, test)
}

// eachServerOf is eachServer for some languages; nil: all.
func eachServerOf(t *testing.T, some []string, test func(t *testing.T, m language.Model, command []string)) {
	for _, l := range language.All() {
		if some != nil && !slices.Contains(some, l.Name) {
			continue
		}
		t.Run(l.Name, func(t *testing.T) {
			t.Parallel()
			command := built(t, l)
			for _, m := range l.Models {
				if m.TCP {
					continue // which is no protocol; its caller's tests hold it to what it does
				}
				t.Run(m.Name, func(t *testing.T) {
					t.Parallel()
					test(t, m, append(command[:len(command):len(command)], "--model", m.Name))
				})
			}
		})
	}
}

// built builds the servers of a language, if necessary, and returns the command that runs them.
func built(t *testing.T, l language.Language) []string {
	t.Helper()
	var log strings.Builder
	command, err := l.Build(t.Context(), []string{testkit.Rpclab(t), "server"}, &log)
	if err != nil {
		t.Fatalf("%v\n%s", err, log.String())
	}
	return command
}
