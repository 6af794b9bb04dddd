package browser

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"

	"rpclab/internal/result"
	"rpclab/internal/testkit/chrome"
)

// The button is next to the gates that failed, and is reached by the keyboard.
func TestAFailedRunIsAcceptedByItsButton(t *testing.T) {
	l := newStation(t)
	l.keep(t, "good", 2, nil)
	store, err := result.OpenStore(filepath.Join(l.dir, "data"))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	slow, _, err := store.Get(t.Context(), "good")
	if err != nil {
		t.Fatal(err)
	}
	slow.ID, slow.Started, slow.Conditions = "slow", slow.Started.Add(time.Hour), result.ConditionsFailed
	slow.Gates = &result.Gates{Against: "good", Undecided: "fail", Results: []result.GateResult{
		{Gate: "p99 ratio < 1.1", Arm: "shared", Ratio: 1.3, CI: [2]float64{1.2, 1.4}, Level: 0.95, Outcome: "failed"},
		{Gate: "p50 ratio < 1.1", Arm: "shared", Ratio: 1, CI: [2]float64{0.95, 1.05}, Level: 0.95, Outcome: "held"},
	}}
	if err := store.Save(t.Context(), slow); err != nil {
		t.Fatal(err)
	}
	for name, v := range map[string]chrome.Viewport{"accept-phone": phone, "accept-dark": night} {
		other := l.open(t, "/runs/slow/report", v)
		await(t, other, "the button", `document.querySelector("header .accept button")`)
		fits(t, other)
		picture(t, other, name)
	}
	p := l.open(t, "/runs/slow/report", desk)
	await(t, p, "the report is drawn", `document.documentElement.dataset.drawn === "true"`)
	for _, want := range []string{"Gate failed: p99 ratio < 1.1, the ratio is 1.30 (1.20–1.40).", "Accept this run"} {
		if text := eval[string](t, p, `document.querySelector("header").textContent`); !strings.Contains(text, want) {
			t.Errorf("the head is %q, want %q in it", text, want)
		}
	}
	if rows := eval[int](t, p, `document.querySelectorAll("#gates tbody tr").length`); rows != 2 {
		t.Errorf("the section of gates has %d rows, want one for each gate", rows)
	}
	fits(t, p)
	picture(t, p, "accept")
	reach(t, p, ".accept button")
	press(t, p, kb.Enter, 1)
	await(t, p, "the report of the accepted run", `!document.querySelector(".accept") && document.querySelector("#conditions")?.textContent.includes("the run was accepted")`)
	fits(t, p)
	picture(t, p, "accepted")
	if d, _, err := store.Get(t.Context(), "slow"); err != nil || d.Conditions != result.ConditionsAccepted {
		t.Errorf("the conditions of the run are %q, %v; want accepted", d.Conditions, err)
	}
}
