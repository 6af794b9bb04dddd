package report

import (
	"testing"

	"rpclab/internal/result"
)

func TestTheLegendNamesTheCallsOfARequest(t *testing.T) {
	by := func(name string, iterations any) result.Arm {
		return result.Arm{Name: name, Config: map[string]any{"gateway": map[string]any{"iterations": iterations}}}
	}
	for want, arms := range map[string][]result.Arm{
		"": {{Name: "a"}},
		" A call here is a request to the gateway, which makes 30 gRPC calls.":       {by("a", 30), by("b", 30.0)},
		" A call here is a request to the gateway, which makes 30 or 60 gRPC calls.": {by("a", 30), by("a", 60)},
		" A call here is a request to the gateway, which makes 1 gRPC call.":         {by("a", 1)},
		" A call of a is a request to the gateway, which makes 30 gRPC calls.":       {by("a", 30), {Name: "b"}},
	} {
		if got := requests(result.Document{Arms: arms}); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
