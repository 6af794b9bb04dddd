package kubernetes

import (
	"fmt"
	"regexp"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// cannot is how an API server says that RBAC does not allow something.
var cannot = regexp.MustCompile(`cannot ([a-z]+) resource "([^"]+)" in API group "([^"]*)"`)

// explain adds to a refusal how to see for oneself, and whom to ask.
func explain(err error, namespace string) error {
	if err == nil || !apierrors.IsForbidden(err) {
		return err
	}
	if advice := advise(err.Error(), namespace); advice != "" {
		return fmt.Errorf("%w\n%s", err, advice)
	}
	return err
}

// advise says what can be done about a refusal of the API server's, in its words; empty:
// nothing that is known.
func advise(message, namespace string) string {
	if strings.Contains(message, "exceeded quota") || strings.Contains(message, "failed quota") {
		return fmt.Sprintf("A quota of the namespace does not allow it: see `kubectl describe quota -n %s`; raise it, or set fewer server.replicas, server.cpus or server.memory", namespace)
	}
	if strings.Contains(message, "violates PodSecurity") {
		return "The cluster's pod security refuses such pods: its administrator has to allow them in namespaces " + prefix + "*"
	}
	if found := cannot.FindStringSubmatch(message); found != nil {
		what := found[2]
		if found[3] != "" {
			name, sub, parted := strings.Cut(what, "/")
			what = name + "." + found[3]
			if parted {
				what += "/" + sub
			}
		}
		return fmt.Sprintf("Missing RBAC: the administrator has to allow %s on %s; then `kubectl auth can-i %s %s -n %s` says yes", found[1], what, found[1], what, namespace)
	}
	return ""
}
