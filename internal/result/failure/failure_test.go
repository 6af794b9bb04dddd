package failure

import (
	"fmt"
	"reflect"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The messages are those of Go, of Java and of gRPC's C core.
func TestMessagesNameTheLimitThatWasReached(t *testing.T) {
	for message, want := range map[string]string{
		`connection error: desc = "transport: Error while dialing: dial tcp 127.0.0.1:50051: socket: too many open files"`: "too many open files",
		"java.net.SocketException: Too many open files":                                                                    "too many open files",
		"dial tcp 127.0.0.1:50051: connect: cannot assign requested address":                                               "no free local port",
		"the caller died 3.9 s into the load: exit status 2, fatal error: runtime: out of memory":                          "out of memory",
		"fatal error: runtime: cannot allocate memory":                                                                     "out of memory",
		"java.lang.OutOfMemoryError: Java heap space":                                                                      "out of memory",
		"java.lang.OutOfMemoryError: unable to create native thread":                                                       "too many threads",
		"dial tcp 127.0.0.1:50051: connect: connection refused":                                                            "",
		"": "",
	} {
		if got := Limit(message); got != want {
			t.Errorf("%q: %q, want %q", message, got, want)
		}
	}
}

func TestReasonsAreTheSameIfOnlyFiguresLogsOrWordsForALimitDiffer(t *testing.T) {
	died := func(at, why, log string) string {
		return "the caller died " + at + " s into the load: exit status 2" + why + "; its last lines:\n  " + log
	}
	for _, test := range []struct {
		a, b string
		want bool
	}{
		{died("1.7", "", "goroutine 1"), died("12", "", "goroutine 7"), true},
		{died("1.7", ", fatal error: runtime: out of memory", "a"), died("2", ", fatal error: runtime: cannot allocate memory", "b"), true},
		{died("1.7", "", "fatal error: runtime: out of memory"), died("1.7", "", "accept: too many open files"), false},
		{died("1.7", "", "fatal error: runtime: out of memory"), died("1.7", "", "goroutine 1"), false},
		{"the caller died: out of memory", "the server died: out of memory", false},
		{"dial tcp 127.0.0.1:1: connect: cannot assign requested address", "dial tcp 127.0.0.2:2: connect: cannot assign requested address", true},
		{"dial tcp 127.0.0.1:1: connect: cannot assign requested address", "dial tcp 127.0.0.1:1: socket: too many open files", false},
	} {
		if Same(test.a, test.b) != test.want || Same(test.b, test.a) != test.want {
			t.Errorf("%q and %q: the same is %v, want %v", test.a, test.b, !test.want, test.want)
		}
	}
}

func TestCallsAreCountedByReason(t *testing.T) {
	var all []Reason
	for range 3 {
		all = Add(all, "dial 127.0.0.1:1: too many open files", 1)
		all = Add(all, "dial 127.0.0.2:2: too many open files", 2)
		all = Add(all, "dial 127.0.0.1:1: cannot assign requested address", 1)
		all = Add(all, "", 1)
	}
	want := []Reason{{"dial 127.0.0.1:1: too many open files", 9}, {"dial 127.0.0.1:1: cannot assign requested address", 3}}
	if !reflect.DeepEqual(all, want) {
		t.Errorf("%+v, want %+v", all, want)
	}
	for i := range 10 * Most { // letters, since reasons may differ in figures
		all = Add(all, fmt.Sprintf("reason %c", 'a'+rune(i)), 1)
	}
	if len(all) != Most {
		t.Errorf("%d reasons are kept, want %d", len(all), Most)
	}
}
