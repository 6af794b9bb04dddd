package lab_test

import (
	"strings"
	"testing"

	"rpclab/internal/experiment"
	"rpclab/internal/lab"
)

// TestARunReportsItsPhases compares the phases of an arm: of arms one after another, which lose a backend, and of arms in
// turns.
func TestARunReportsItsPhases(t *testing.T) {
	t.Parallel()
	const up, down = "start servers, start callers, warm up, ", "stop callers, stop servers, "
	killed := strings.Replace(small, "load: {burst: 60}", "load: {open: {rate: 50, duration: 300ms}}", 1) + "events: [{at: 100ms, kill: 1}]\n"
	for design, c := range map[string]struct{ document, want string }{
		experiment.Isolated:    {killed, strings.Repeat(up+"event kill 1, load, "+down, 2)},
		experiment.Interleaved: {small, up + "rehearse, load, load, " + down},
	} {
		o, phases := options(t), map[string]string{}
		o.Phases = func(p lab.Phase) {
			name := p.Name
			if p.Event != nil {
				name += " " + p.Event.What
			}
			if p.Ended.Before(p.Began) || p.Err != nil {
				t.Errorf("%s: %s took %v and failed with %v", design, name, p.Ended.Sub(p.Began), p.Err)
			}
			phases[p.Trial.Arm] += name + ", "
		}
		if _, err := lab.Run(t.Context(), plan(t, c.document, experiment.Options{Set: []string{"design=" + design}}), o); err != nil {
			t.Fatalf("%s: %v", design, err)
		}
		got := strings.ReplaceAll(phases["shared"], "load, event kill 1, ", "event kill 1, load, ") // on a busy machine, the kill may end after the load
		if phases[""] != "prepare, " || got != c.want {
			t.Errorf("%s: the phases of the run are %q, and those of an arm\n%s\nwant\n%s", design, phases[""], got, c.want)
		}
	}
}
