package kubernetes

import (
	"fmt"
	"regexp"
	"strings"

	authorization "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// cannot matches the API server's error for missing RBAC permissions.
var cannot = regexp.MustCompile(`cannot ([a-z]+) resource "([^"]+)" in API group "([^"]*)"`)

// explain adds to a permission error how to check it and what to ask for.
func explain(err error, namespace string) error {
	if err == nil || !apierrors.IsForbidden(err) {
		return err
	}
	if advice := advise(err.Error(), namespace); advice != "" {
		return fmt.Errorf("%w\n%s", err, advice)
	}
	return err
}

// advise says what to do about an error message of the API server; empty: not known.
func advise(message, namespace string) string {
	if strings.Contains(message, "failed quota") { // a higher quota does not help
		return "A quota of the namespace demands requests or limits that these pods do not have: add a LimitRange with defaults to the namespace, or exempt the namespaces " +
			prefix + "* from the quota"
	}
	if strings.Contains(message, "exceeded quota") {
		return fmt.Sprintf("A quota of the namespace is exceeded: see `kubectl describe quota -n %s`; raise it, or reduce server.replicas, server.cpus or server.memory", namespace)
	}
	if strings.Contains(message, "violates PodSecurity") {
		return "The namespaces " + prefix + "* enforce the restricted Pod Security Standard: change the pods' template to obey it, or exempt these namespaces from what changes their pods (a mesh, an admission webhook)"
	}
	if found := cannot.FindStringSubmatch(message); found != nil {
		resource, sub, _ := strings.Cut(found[2], "/")
		check := canI(authorization.ResourceAttributes{Verb: found[1], Resource: resource, Subresource: sub, Group: found[3], Namespace: namespace})
		return fmt.Sprintf("Missing RBAC permission: ask the administrator to allow %s on %s; then `%s` answers yes", found[1], found[2], check)
	}
	return ""
}

// canI is the command that checks a permission.
func canI(permission authorization.ResourceAttributes) string {
	command := "kubectl auth can-i " + permission.Verb + " " + permission.Resource
	if permission.Group != "" {
		command += "." + permission.Group
	}
	if permission.Subresource != "" {
		command += " --subresource=" + permission.Subresource
	}
	if permission.Namespace != "" {
		command += " -n " + permission.Namespace
	}
	return command
}

// ignoreNotFound returns nil when the object is already deleted.
func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
