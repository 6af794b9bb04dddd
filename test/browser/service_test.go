package browser

import (
	"fmt"
	"regexp"
	"testing"

	"rpclab/internal/process"
	"rpclab/internal/testkit"
	"rpclab/internal/testkit/chrome"
)

var servedAt = regexp.MustCompile(`address=(127\.0\.0\.1:\d+)`)

// The page asks a server for its methods and makes a load on it.
func TestALoadOnAnAddressIsStartedFromThePage(t *testing.T) {
	server, err := process.Start(process.Spec{Args: []string{testkit.Rpclab(t), "server", "--listen", "127.0.0.1:0"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Stop(chrome.Timeout) })
	address := ""
	testkit.Await(t, "the server says where it is", func() bool {
		found := servedAt.FindStringSubmatch(server.Log())
		if found != nil {
			address = found[1]
		}
		return found != nil
	})
	p := newStation(t).open(t, "/", desk)
	await(t, p, "the form", `document.querySelector("#service option")`)
	choose := func(id, value string) {
		t.Helper()
		eval[bool](t, p, fmt.Sprintf(`(() => { const s = document.getElementById(%q); s.value = %q; s.dispatchEvent(new Event("change")); return true; })()`, id, value))
	}
	if !eval[bool](t, p, `document.getElementById("rate").closest(".field").hidden && document.getElementById("call").closest(".field").hidden`) {
		t.Error("the form asks for a rate or a call, although the experiment has them")
	}
	choose("experiment", "load")
	choose("service", "\naddress")
	choose("address", address)
	click := func(text string) {
		t.Helper()
		if !eval[bool](t, p, fmt.Sprintf(`(() => { const b = [...document.querySelectorAll("button")].find((b) => b.textContent === %q); b?.click(); return !!b; })()`, text)) {
			t.Fatalf("there is no button %s", text)
		}
	}
	click("Find its methods")
	await(t, p, "a service file with the address", fmt.Sprintf(`document.getElementById("file").value.includes(%q)`, address))
	await(t, p, "the calls", `[...document.getElementById("call").options].some((o) => o.value === "say-hello")`)
	choose("call", "say-hello")
	choose("rate", "50")
	choose("duration", "2")
	picture(t, p, "load-form")
	click("Start")
	awaitPhase(t, p, "done")
	fits(t, p)
	picture(t, p, "load-from-page")
	if failed := eval[string](t, p, `[...document.querySelectorAll("tbody tr td:last-child")].at(0)?.textContent ?? "no trial"`); failed != "0" {
		t.Errorf("the trial's failed calls are %q, want 0", failed)
	}
	if calls := eval[string](t, p, `document.querySelector("tbody tr td:nth-child(5)").textContent`); calls != "100" {
		t.Errorf("the trial has %s calls, want 100", calls)
	}
}
