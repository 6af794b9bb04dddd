package kubernetes

import (
	"fmt"
	"regexp"
	"strings"

	authorization "k8s.io/api/authorization/v1"
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
		resource, sub, _ := strings.Cut(found[2], "/")
		ask := canI(authorization.ResourceAttributes{Verb: found[1], Resource: resource, Subresource: sub, Group: found[3], Namespace: namespace})
		return fmt.Sprintf("Missing RBAC: the administrator has to allow to %s %s; then `%s` says yes", found[1], found[2], ask)
	}
	return ""
}

// canI is how to see for oneself whether something is allowed.
func canI(what authorization.ResourceAttributes) string {
	ask := "kubectl auth can-i " + what.Verb + " " + what.Resource
	if what.Group != "" {
		ask += "." + what.Group
	}
	if what.Subresource != "" {
		ask += " --subresource=" + what.Subresource
	}
	if what.Namespace != "" {
		ask += " -n " + what.Namespace
	}
	return ask
}
