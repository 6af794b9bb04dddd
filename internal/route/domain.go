package route

import (
	"os"
	"strings"
)

// resolvConf is where a system says how it completes names (resolv.conf(5)).
const resolvConf = "/etc/resolv.conf"

// whole completes the name of a Kubernetes service, greeter.lab.svc, by the domain of the
// cluster in whose pod this runs, so that no lookup tries the search path first. Any other
// name, and one in no pod, stays as it is.
func whole(name string) string {
	text, _ := os.ReadFile(resolvConf) // none completes nothing
	return wholeBy(string(text), name)
}

func wholeBy(conf, name string) string {
	if !strings.HasSuffix(name, ".svc") {
		return name
	}
	for line := range strings.Lines(conf) {
		words := strings.Fields(line)
		if len(words) == 0 || words[0] != "search" {
			continue
		}
		for _, domain := range words[1:] {
			if rest, ok := strings.CutPrefix(domain, "svc."); ok {
				return name + "." + strings.TrimSuffix(rest, ".") + "."
			}
		}
	}
	return name
}
