package conformance

import (
	"fmt"
	"strings"
	"testing"

	"rpclab/internal/language"
	"rpclab/internal/testkit"
)

// TestBusyServersAreHealthy checks the health of servers whose workers all have a call. The threads of Tomcat answer health
// checks too.
func TestBusyServersAreHealthy(t *testing.T) {
	eachServer(t, func(t *testing.T, m language.Model, command []string) {
		if m.Name == "rest-blocking" {
			return
		}
		p, c, out := supervisedOn(t, free(t), m, append(command, "--workers", "1", "--delay", "1h"))
		go func() { _ = greeted(t.Context(), t, c) }()
		testkit.Await(t, "the call has the worker", func() bool {
			_, _ = fmt.Fprintln(p.Stdin, `{"count": true}`) // fails only if the server has ended
			return strings.HasSuffix("\n"+out.String(), "\n1\n")
		})
		go func() { _ = greeted(t.Context(), t, c) }() // queues
		if serving, err := c.serving(t.Context()); !serving || err != nil {
			t.Errorf("the busy server serves: %t, error %v; want true", serving, err)
		}
	})
}
