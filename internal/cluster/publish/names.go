package publish

import "k8s.io/apimachinery/pkg/util/validation"

// Names are the names of the published service.
type Names struct {
	Service   string // a DNS label: greeter
	Namespace string // default
	Port      int    // of every backend, 1 to 65535; 0: each has its own
}

// isLabel says whether a name is a valid DNS label (RFC 1123).
func isLabel(name string) bool { return len(validation.IsDNS1123Label(name)) == 0 }
