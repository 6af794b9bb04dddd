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

// keepFailed stores a run with two gates, of which one failed, and returns the open store.
func (l *station) keepFailed(t *testing.T, id string) *result.Store {
	t.Helper()
	l.keep(t, "good", 2, nil)
	store, err := result.OpenStore(filepath.Join(l.dir, "data"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	slow, _, err := store.Get(t.Context(), "good")
	if err != nil {
		t.Fatal(err)
	}
	slow.ID, slow.Started, slow.Conditions = id, slow.Started.Add(time.Hour), result.ConditionsFailed
	slow.Gates = &result.Gates{Against: "good", Undecided: "fail", Results: []result.GateResult{
		{Gate: "p99 ratio < 1.1", Arm: "shared", Ratio: 1.3, CI: [2]float64{1.2, 1.4}, Level: 0.95, Outcome: "failed"},
		{Gate: "p50 ratio < 1.1", Arm: "shared", Ratio: 1, CI: [2]float64{0.95, 1.05}, Level: 0.95, Outcome: "held"},
	}}
	if err := store.Save(t.Context(), slow); err != nil {
		t.Fatal(err)
	}
	return store
}

// acceptByKeyboard accepts the run whose report is open.
func acceptByKeyboard(t *testing.T, p *chrome.Page, store *result.Store, id string) {
	t.Helper()
	reach(t, p, ".accept button")
	press(t, p, kb.Enter, 1)
	await(t, p, "the report of the accepted run", `!document.querySelector(".accept") && document.querySelector("#conditions")?.textContent.includes("the run was accepted")`)
	if d, _, err := store.Get(t.Context(), id); err != nil || d.Conditions != result.ConditionsAccepted {
		t.Errorf("the conditions of the run are %q, %v; want accepted", d.Conditions, err)
	}
}

// The button is next to the gates that failed, and is reached by the keyboard.
func TestAFailedRunIsAcceptedByItsButton(t *testing.T) {
	l := newStation(t)
	store := l.keepFailed(t, "slow")
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
	acceptByKeyboard(t, p, store, "slow")
	fits(t, p)
	picture(t, p, "accepted")
}

// Chromium says from which site a form comes only to addresses with TLS or on this machine. Elsewhere the server has the
// Origin alone.
func TestFormsWorkUnderANameWithoutTLS(t *testing.T) {
	const token = "a-token-of-24-characters"
	l := newStation(t, "--token", token, "--host", "lab.test")
	store := l.keepFailed(t, "slow")
	l.url = strings.Replace(l.url, "127.0.0.1", "lab.test", 1)
	login := l.open(t, "/login", desk)
	reach(t, login, "#token")
	press(t, login, token, 1)
	press(t, login, kb.Enter, 1)
	await(t, login, "the page behind the login", `location.pathname === "/" && document.querySelector("#experiment option")`)
	p := l.open(t, "/runs/slow/report", desk)
	acceptByKeyboard(t, p, store, "slow")
}
