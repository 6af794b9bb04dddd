package report

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"

	"rpclab/internal/result"
)

// securities are the settings that secure calls, as paths, with what each of their values is
// called.
var securities = []struct {
	path string
	call func(v any) string
}{
	{"server.security", func(v any) string {
		return map[any]string{"tls": "TLS", "mtls": "mutual TLS"}[v]
	}},
	{"caller.jwt", func(v any) string {
		return map[any]string{"once": "a token made once", "every": "a token made for each call"}[v]
	}},
	{"caller.signing", func(v any) string { return map[any]string{true: "signing"}[v] }},
	{"caller.metadata", func(v any) string {
		if v == nil || fmt.Sprint(v) == "0" {
			return ""
		}
		return fmt.Sprintf("%v further headers", v)
	}},
}

// securityCost says in µs what securing a call costs, where an arm differs from the one that it
// is compared with in that alone.
func securityCost(p *page, d result.Document) {
	t := table{columns: []column{{"arm", false}, {"adds", false}, {"client µs/call", true}, {"server µs/call", true}}}
	var why mergedTexts
	for _, a := range d.Arms {
		for _, b := range d.Arms {
			what := secures(a, b)
			if what == "" || a.Cell.Key() != b.Cell.Key() {
				continue
			}
			client, reasonC := addedCPU(d, a, b, "client_cpu", b.Resources.Client.CPU)
			server, reasonS := addedCPU(d, a, b, "server_cpu", b.Resources.Server.CPU)
			if client+server == "" {
				continue
			}
			t.rows = append(t.rows, []string{clean(a.Name) + at(a.Cell), what, client, server})
			for _, reason := range []string{reasonC, reasonS} {
				if reason != "" {
					why.exactly("without an interval: " + clean(reason))
				}
			}
		}
	}
	if len(t.rows) == 0 {
		return
	}
	p.heading("What security costs a call")
	p.grid(t)
	for _, text := range why.texts() {
		p.item(text)
	}
	p.note("CPU time over that of the same arm without it. In brackets: the interval of the verdict's ratio, less 1, of that arm's own; " +
		"where it holds 0, it may be chance.")
}

// addedCPU is what an arm adds to the CPU time of another, and why there is no interval; "":
// nobody compared them.
func addedCPU(d result.Document, a, b result.Arm, metric string, base float64) (text, reason string) {
	for _, v := range d.Verdicts {
		if v.Metric != metric || v.A != a.Name || v.B != b.Name || v.Cell.Key() != a.Cell.Key() || v.Ratio <= 0 {
			continue
		}
		added := func(ratio float64) string { return signed((ratio - 1) * base) }
		if v.Unfit || v.CI == [2]float64{} {
			return added(v.Ratio), v.Reason
		}
		return fmt.Sprintf("%s (%s to %s)", added(v.Ratio), added(v.CI[0]), added(v.CI[1])), ""
	}
	return "", ""
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

// secures is what an arm has beyond another that is the same else; "": it is not.
func secures(a, b result.Arm) string {
	left, right := flat("", a.Config), flat("", b.Config)
	var all []string
	for _, s := range securities {
		with, without := left[s.path], right[s.path]
		delete(left, s.path)
		delete(right, s.path)
		if reflect.DeepEqual(with, without) {
			continue
		}
		more, less := s.call(with), s.call(without)
		if more == "" || less != "" {
			return ""
		}
		all = append(all, more)
	}
	if !reflect.DeepEqual(left, right) {
		return ""
	}
	return strings.Join(all, ", ")
}

// flat is a configuration as paths and values.
func flat(prefix string, config map[string]any) map[string]any {
	all := map[string]any{}
	for _, key := range slices.Sorted(maps.Keys(config)) {
		if below, deeper := config[key].(map[string]any); deeper {
			maps.Copy(all, flat(prefix+key+".", below))
			continue
		}
		all[prefix+key] = config[key]
	}
	return all
}
