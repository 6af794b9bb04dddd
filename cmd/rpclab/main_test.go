package main

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestAMessageOfAServerCannotControlTheTerminal(t *testing.T) {
	const message = "server reflection: \x1b]0;title\x07\x1b[2J\u202eno\u009b1m \U0001f600\n\tset --proto"
	if got, want := printable(message), "server reflection:  ]0;title  [2J no 1m \U0001f600\n\tset --proto"; got != want {
		t.Errorf("%q is printed, want %q", got, want)
	}
}
