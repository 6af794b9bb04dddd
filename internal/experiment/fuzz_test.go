package experiment

import (
	"errors"
	"strings"
	"testing"
)

// For any document and setting, Expand returns a plan with trials or errors with a file and a message.
func FuzzExpand(f *testing.F) {
	for _, doc := range []string{
		head, swept, paired, long, "", "x", "- x", "a: &a [*a]", "? {a: b}\n", "{a: b, a: c}",
		withHead("sweep: {load: [{burst: 1}, {open: {rate: 1, duration: 1s}}]}"),
		searching("{slo: p99 < 5ms and errors < 1%, from: 1, to: 9, duration: 5s, precision: 2%}"),
		withHead("quick: {arms.a: {route: direct}, sweep: {}}"),
		withHead("quick: {arms: {c: {control: c}}}"),
		withHead("events: [{at: 0, slow: {backends: 1}}]"),
		strings.Replace(head, "a: {}", "a: {control: b, caller: null}", 1),
		strings.Replace(head, "rounds: 2", "rounds: 0x10", 1),
	} {
		f.Add([]byte(doc), "load.burst=3", false)
		f.Add([]byte(doc), "arms.a.caller.channel={pool: 3}", true)
	}
	f.Fuzz(func(t *testing.T, doc []byte, set string, quick bool) {
		p, err := Expand("x.yaml", doc, Options{Quick: quick, Set: []string{set}}, vocabulary)
		if err == nil && len(p.Trials) == 0 {
			t.Error("the plan has no trials")
		}
		var all Errors
		if err != nil && (!errors.As(err, &all) || len(all) == 0) {
			t.Errorf("the error has no position: %v", err)
		}
		for _, one := range all {
			if one.File == "" || one.Message == "" {
				t.Errorf("the error is %+v, want a file and a message", one)
			}
		}
	})
}
