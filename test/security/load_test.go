package security

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"

	"rpclab/internal/testkit"
)

func TestLoadCalculatesInBothStyles(t *testing.T) {
	s := start(t, everything)
	for _, style := range []string{"bidi", "unary-stream"} {
		var out, errs bytes.Buffer
		c := exec.CommandContext(t.Context(), testkit.Rpclab(t), "load", "--style", style, "--workers", "3", "--interval", "0s", "--transactions", "60",
			"--x", "97", "--jwt-gen", "every", "--extra-metadata", "3", "--latency-gt", "1h", "--keys", s.keys, s.addr)
		c.Stdout, c.Stderr = &out, &errs
		if err := c.Run(); err != nil {
			t.Fatalf("%s: %v\n%s", style, err, errs.String())
		}
		if text := out.String(); !strings.HasPrefix(text, "60 of 60 calculations answered") || !strings.Contains(text, "\n0 took longer than 1h0m0s\n") {
			t.Errorf("style %s: want 60 of 60 calculations answered, got\n%s%s", style, text, errs.String())
		}
	}
}
