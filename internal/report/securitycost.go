package report

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"rpclab/internal/result"
)

// securityPaths are the settings that secure calls.
var securityPaths = []string{"server.security", "caller.jwt", "caller.signing", "caller.metadata"}

// securityWords are what each of the settings at securityPaths is called; "": it secures nothing.
func securityWords(s result.Settings) []string {
	words := []string{
		map[string]string{"tls": "TLS", "mtls": "mutual TLS"}[s.Server.Security],
		map[string]string{"once": "a token made once", "every": "a token made for each call"}[s.Caller.JWT],
		map[bool]string{true: "signing"}[s.Caller.Signing], "",
	}
	if s.Caller.Metadata > 0 {
		words[3] = fmt.Sprintf("%v further headers", s.Caller.Metadata)
	}
	return words
}

// securityCost says how many µs of CPU time security adds to a call, where arms differ in nothing else.
func securityCost(p *page, d result.Document) {
	t := table{columns: []column{{"arm", false}, {"adds", false}, {"client µs/call", true}, {"server µs/call", true}}}
	var why mergedReasons
	ratios, arms := ratiosByKey(d), d.ArmsByKey()
	others := map[result.ArmKey]*distinct{} // that an arm's CPU time is compared with
	for key := range ratios {
		if arm := (result.ArmKey{Name: key.a, Cell: key.cell}); key.metric == "client_cpu" || key.metric == "server_cpu" {
			if others[arm] == nil {
				others[arm] = &distinct{}
			}
			others[arm].add(key.b)
		}
	}
	for _, a := range d.Arms {
		if others[a.Key()] == nil {
			continue
		}
		for _, name := range slices.Sorted(slices.Values(others[a.Key()].list)) {
			b, known := arms[result.ArmKey{Name: name, Cell: a.Key().Cell}]
			what := ""
			if known {
				what = secures(a, b)
			}
			if what == "" {
				continue
			}
			client, reasonC := addedCPU(ratios, a, b, "client_cpu", b.Resources.Client.CPU)
			server, reasonS := addedCPU(ratios, a, b, "server_cpu", b.Resources.Server.CPU)
			if client+server == "" {
				continue
			}
			t.rows = append(t.rows, []string{clean(a.Name) + at(a.Cell), what, client, server})
			for _, reason := range []string{reasonC, reasonS} {
				if reason != "" {
					why.add("without an interval: "+clean(reason), nil, "")
				}
			}
		}
	}
	if len(t.rows) == 0 {
		return
	}
	p.heading("What security costs a call")
	p.grid(t)
	for _, r := range why.list {
		p.item(r.text)
	}
	p.note("CPU time added to that of the same arm without it. In brackets: the confidence interval; " +
		"if it includes 0, the difference may be chance.")
}

// addedCPU is what an arm adds to the CPU time of another, and why there is no interval; "": the
// arms are not compared.
func addedCPU(ratios map[ratioKey]result.Verdict, a, b result.Arm, metric string, base float64) (text, reason string) {
	v, known := ratios[ratioKey{metric, a.Name, b.Name, a.Cell.Key()}]
	if !known {
		return "", ""
	}
	added := func(ratio float64) string { return signed((ratio - 1) * base) }
	if v.Unfit || v.CI == [2]float64{} {
		return added(v.Ratio), v.Reason
	}
	return fmt.Sprintf("%s (%s to %s)", added(v.Ratio), added(v.CI[0]), added(v.CI[1])), ""
}

// signed is a difference in µs.
func signed(us float64) string {
	text := fmt.Sprintf("%.1f", math.Abs(us))
	if math.Abs(us) >= 10 {
		text = number(math.Abs(us))
	}
	if us < 0 && strings.Trim(text, "0.") != "" {
		return "−" + text
	}
	return text
}

// secures is what secures the calls of an arm beyond those of another that is otherwise the same; "": nothing.
func secures(a, b result.Arm) string {
	left, right := a.SettingsByPath(), b.SettingsByPath()
	for _, path := range securityPaths {
		delete(left, path)
		delete(right, path)
	}
	if !reflect.DeepEqual(left, right) {
		return ""
	}
	var all []string
	with, without := securityWords(a.Settings()), securityWords(b.Settings())
	for i := range with {
		switch {
		case with[i] == without[i]:
		case with[i] == "" || without[i] != "":
			return ""
		default:
			all = append(all, with[i])
		}
	}
	return strings.Join(all, ", ")
}
