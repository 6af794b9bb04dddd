package browser

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"rpclab/internal/process"
	"rpclab/internal/testkit"
	"rpclab/internal/testkit/chrome"
)

var servedAt = regexp.MustCompile(`address=(127\.0\.0\.1:\d+)`)

// greeterAt starts a server and returns its address.
func greeterAt(t *testing.T, flags ...string) (address string) {
	t.Helper()
	server, err := process.Start(process.Spec{Args: append([]string{testkit.Rpclab(t), "server", "--listen", "127.0.0.1:0"}, flags...)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Stop(chrome.Timeout) })
	testkit.Await(t, "the server says where it is", func() bool {
		found := servedAt.FindStringSubmatch(server.Log())
		if found != nil {
			address = found[1]
		}
		return found != nil
	})
	return address
}

// choose sets a field of the form, as a user does.
func choose(t *testing.T, p *chrome.Page, id, value string) {
	t.Helper()
	eval[bool](t, p, fmt.Sprintf(`(() => { const s = document.getElementById(%q); s.value = %q; s.dispatchEvent(new Event("change")); return true; })()`, id, value))
}

func click(t *testing.T, p *chrome.Page, text string) {
	t.Helper()
	if !eval[bool](t, p, fmt.Sprintf(`(() => { const b = [...document.querySelectorAll("button")].find((b) => b.textContent === %q); b?.click(); return !!b; })()`, text)) {
		t.Fatalf("there is no button %s", text)
	}
}

// The page asks a server for its methods and makes a load on it.
func TestALoadOnAnAddressIsStartedFromThePage(t *testing.T) {
	address := greeterAt(t)
	p := newStation(t).open(t, "/", desk)
	await(t, p, "the form", `document.querySelector("#service option")`)
	if !eval[bool](t, p, `document.getElementById("rate").closest(".field").hidden && document.getElementById("call").closest(".field").hidden`) {
		t.Error("the form asks for a rate or a call, although the experiment has them")
	}
	choose(t, p, "rounds", "0") // which a load does not have
	choose(t, p, "experiment", "load")
	choose(t, p, "service", "\naddress")
	choose(t, p, "address", address)
	click(t, p, "Find its methods")
	await(t, p, "a service file with the address", fmt.Sprintf(`document.getElementById("file").value.includes(%q)`, address))
	await(t, p, "the calls", `[...document.getElementById("call").options].some((o) => o.value === "say-hello")`)
	choose(t, p, "call", "say-hello")
	choose(t, p, "rate", "50")
	choose(t, p, "duration", "2")
	picture(t, p, "load-form")
	choose(t, p, "address", "127.0.0.1:1")
	click(t, p, "Start")
	await(t, p, "that the file is not that of the address", `document.body.textContent.includes("Find the methods of 127.0.0.1:1 first")`)
	choose(t, p, "address", address)
	click(t, p, "Start")
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

// A server without reflection is called by a service file that the user writes into the form.
func TestALoadOnAServiceFileWrittenInTheFormIsStarted(t *testing.T) {
	address := greeterAt(t, "--model", "rest")
	p := newStation(t).open(t, "/", desk)
	await(t, p, "the form", `document.querySelector("#service option")`)
	choose(t, p, "experiment", "load")
	choose(t, p, "service", "\naddress")
	write := func(call string) {
		choose(t, p, "file", fmt.Sprintf("service: greeter\nserver: {addresses: [%q]}\ncalls:\n  hello: {http: GET, path: /healthz, %s}\n  again: {http: GET, path: /healthz}\n", address, call))
	}
	write("chek: status == 200")
	await(t, p, "the error", `document.querySelector(".warning").textContent.includes("did you mean")`)
	write("check: status == 200")
	await(t, p, "the calls", `[...document.getElementById("call").options].some((o) => o.value === "again")`)
	choose(t, p, "call", "again")
	write("check: status < 300")
	await(t, p, "the file to be checked", `!document.querySelector(".warning").textContent && !document.querySelector("#start ~ form button.plain").disabled`)
	if call := eval[string](t, p, `document.getElementById("call").value`); call != "again" {
		t.Errorf("after a change of the file the form has the call %q, want again", call)
	}
	choose(t, p, "rate", "50")
	choose(t, p, "duration", "2")
	picture(t, p, "load-form-file")
	click(t, p, "Start")
	awaitPhase(t, p, "done")
	if calls := eval[string](t, p, `document.querySelector("tbody tr td:nth-child(5)").textContent`); calls != "100" {
		t.Errorf("the trial has %s calls, want 100", calls)
	}
}

// The second call sends what the first one answered.
const twoCalls = `
service: greeter
server: {addresses: [%q]}
calls:
  hello: {method: rpclab.v1.Greeter/SayHello, data: {name: you}}
  again: {method: rpclab.v1.Greeter/SayHello, data: {name: %q}%s}
`

func TestAMixAndAFlowAreStartedFromThePage(t *testing.T) {
	address := greeterAt(t)
	var services []string
	for name, from := range map[string]string{"mixed": "", "flowing": ", from: {greeting: hello.message}"} {
		data := map[string]string{"": "you"}[from]
		if data == "" {
			data = "{{.greeting}}"
		}
		file := filepath.Join(t.TempDir(), name+".yaml")
		text := strings.Replace(fmt.Sprintf(twoCalls, address, data, from), "greeter", name, 1)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		services = append(services, "--service", file)
	}
	l := newStation(t, services...)
	mix := func(p *chrome.Page, shares ...string) {
		await(t, p, "the form", `document.querySelector("#service option")`)
		choose(t, p, "experiment", "load")
		choose(t, p, "service", "mixed")
		choose(t, p, "call", "\nmix")
		for i, share := range shares {
			choose(t, p, fmt.Sprintf("share-%d", i), share)
		}
	}
	wrong := l.open(t, "/", desk)
	mix(wrong, "80%", "30%")
	click(t, wrong, "Start")
	await(t, wrong, "the error of wrong shares", `document.querySelector("form > [role=status]").textContent.includes("add up to 110 %, not 100 %")`)

	p := l.open(t, "/", desk)
	await(t, p, "the form", `document.querySelector("#service option")`)
	visible := func(what string) bool { return eval[bool](t, p, what+`.checkVisibility()`) }
	byName := `[...document.querySelectorAll("[aria-label='Calls by name'] tbody tr")].map((row) => [...row.cells].map((c) => c.textContent))`
	choose(t, p, "experiment", "load")
	choose(t, p, "service", "mixed")
	if visible(`document.getElementById("flow")`) || visible(`document.getElementById("share-0")`) {
		t.Error("the form asks for shares or an order, although one call is chosen")
	}
	mix(p, "80%", "20%")
	choose(t, p, "rate", "50")
	choose(t, p, "duration", "2")
	picture(t, p, "mix-form")
	click(t, p, "Start")
	awaitPhase(t, p, "done")
	rows := eval[[][]string](t, p, byName)
	if len(rows) != 2 || rows[0][0] != "again" || rows[0][1] != "20" || rows[1][0] != "hello" || rows[1][1] != "80" || rows[0][4]+rows[1][4] != "00" {
		t.Errorf("the calls by name are %v, want 20 of again and 80 of hello, and none that failed", rows)
	}
	fits(t, p)
	picture(t, p, "mix")

	choose(t, p, "service", "flowing")
	choose(t, p, "call", "\nflow")
	choose(t, p, "flow", "hello, again")
	click(t, p, "Start")
	await(t, p, "the flow is done", `document.getElementById("question").textContent.startsWith("hello, then again") && document.querySelector("[data-phase=done]")`)
	rows = eval[[][]string](t, p, byName)
	if len(rows) != 2 || rows[0][1] != "100" || rows[1][1] != "100" || rows[0][4]+rows[1][4] != "00" {
		t.Errorf("the calls by name are %v, want 100 of each, and none that failed", rows)
	}
	fits(t, p)
	picture(t, p, "flow")
}
