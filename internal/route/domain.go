package route

import (
	"os"
	"strings"
)

// resolvConf has the search path of the resolver (resolv.conf(5)).
const resolvConf = "/etc/resolv.conf"

// completeName appends the cluster's domain to the name of a Kubernetes service,
// greeter.lab.svc, so that no lookup tries the search path first. It returns any other
// name, and every name outside of a pod, unchanged.
func completeName(name string) string {
	text, _ := os.ReadFile(resolvConf) // without the file the name stays unchanged
	return completeNameBy(string(text), name)
}

func completeNameBy(conf, name string) string {
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
