package process

import (
	"strings"
	"testing"
)

func TestALogKeepsWhyTheRuntimeEndedTheProcess(t *testing.T) {
	var log tail
	for _, text := range []string{"started\n", "fatal error: runtime: cannot allocate memory\n", strings.Repeat("goroutine 1 [running]:\n", 1000)} {
		if _, err := log.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := log.String(), "fatal error: runtime: cannot allocate memory\n…\ngoroutine 1"; !strings.HasPrefix(got, want) || !strings.HasSuffix(got, "[running]:") {
		t.Errorf("the log is %.100q, want it to begin with %q and to end with the last lines", got, want)
	}
	log = tail{}
	if _, err := log.Write([]byte("one\ntwo\n")); err != nil {
		t.Fatal(err)
	}
	if got := log.String(); got != "one\ntwo" {
		t.Errorf("the log is %q, want both lines", got)
	}
}

// A stack trace in JSON is one line.
func TestALogKeepsTheEndOfALongLine(t *testing.T) {
	var log tail
	if _, err := log.Write([]byte("started\n{" + strings.Repeat("x", maxTail) + "cause}\n")); err != nil {
		t.Fatal(err)
	}
	if got := log.String(); !strings.HasPrefix(got, "…xxx") || !strings.HasSuffix(got, "xcause}") {
		t.Errorf("the log is %.20q, want the end of the line", got)
	}
}
