package report

import (
	"fmt"
	"maps"
	"slices"

	"rpclab/internal/result"
)

// missing lists what only one of the runs has.
func missing(p *page, a, b result.Document) {
	var said []string
	only := func(in, other result.Document, name string) {
		for _, arm := range in.Arms {
			if _, ok := armOf(other, arm.Name, arm.Cell); !ok {
				said = append(said, fmt.Sprintf("only in %s: %s%s", name, clean(arm.Name), at(arm.Cell)))
			}
		}
	}
	only(a, b, "A")
	only(b, a, "B")
	if len(said) == 0 {
		return
	}
	p.heading("Not compared")
	for _, text := range said {
		p.item(text)
	}
}

// differences lists what else is not the same: the run, the machine, the settings.
func differences(p *page, a, b result.Document) {
	var said []string
	differ := func(what string, left, right any) {
		if l, r := value(left), value(right); l != r {
			said = append(said, clean(fmt.Sprintf("%s: %s in A, %s in B", what, orNothing(l), orNothing(r))))
		}
	}
	differ("cluster", a.Cluster, b.Cluster)
	differ("rounds", a.Rounds, b.Rounds)
	differ("seed", fmt.Sprint(a.Seed), fmt.Sprint(b.Seed))
	differ("quick", a.Quick, b.Quick)
	differ("partial", a.Partial, b.Partial)
	differ("machine", machine(a.Machine), machine(b.Machine))
	differ("kernel", a.Machine.Kernel, b.Machine.Kernel)
	for _, left := range a.Arms {
		right, ok := armOf(b, left.Name, left.Cell)
		if !ok {
			continue
		}
		l, r := flat("", left.Config), flat("", right.Config)
		paths := maps.Clone(l)
		maps.Copy(paths, r)
		for _, path := range slices.Sorted(maps.Keys(paths)) {
			differ(left.Name+at(left.Cell)+", "+path, l[path], r[path])
		}
	}
	if len(said) == 0 {
		return
	}
	p.heading("What else differs")
	for _, text := range said {
		p.item(text)
	}
}

func orNothing(text string) string {
	if text == "" || text == "null" {
		return "not set"
	}
	return text
}

// flat makes one field path for each setting.
func flat(path string, config map[string]any) map[string]any {
	out := map[string]any{}
	for name, v := range config {
		if path != "" {
			name = path + "." + name
		}
		if deeper, ok := v.(map[string]any); ok {
			maps.Copy(out, flat(name, deeper))
			continue
		}
		out[name] = v
	}
	return out
}
