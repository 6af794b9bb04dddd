package kubernetes

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	authorization "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// preflight fails unless this user has the permissions of a run.
func (a *API) preflight(ctx context.Context) error {
	missing, err := a.missing(ctx)
	if err != nil || len(missing) == 0 {
		return err
	}
	role, err := yaml.Marshal(rbacv1.ClusterRole{
		TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "ClusterRole"},
		ObjectMeta: metav1.ObjectMeta{Name: manager}, Rules: missing,
	})
	if err != nil {
		return err
	}
	return fmt.Errorf("this user of %s lacks permissions that a run needs; ask the administrator for this role:\n\n%s\n"+
		"Apply that, then `kubectl create clusterrolebinding %s --clusterrole=%s --user=NAME`",
		a.config.Host, role, manager, manager)
}

// missing are the rules of a run with the verbs that this user lacks.
func (a *API) missing(ctx context.Context) ([]rbacv1.PolicyRule, error) {
	needed := Permissions()[PermissionsOfRun]
	lacks := make([][]string, len(needed))
	each, ctx := errgroup.WithContext(ctx)
	for i, rule := range needed {
		each.Go(func() error {
			for _, verb := range rule.Verbs {
				able, err := a.may(ctx, "", rule.APIGroups[0], rule.Resources[0], verb)
				if err != nil {
					return fmt.Errorf("check permissions: %w", err)
				}
				if !able {
					lacks[i] = append(lacks[i], verb)
				}
			}
			return nil
		})
	}
	if err := each.Wait(); err != nil {
		return nil, err
	}
	all := slices.Clone(needed)
	for i := range all {
		all[i].Verbs = lacks[i]
	}
	return slices.DeleteFunc(all, func(rule rbacv1.PolicyRule) bool { return len(rule.Verbs) == 0 }), nil
}

// may says whether this user has a permission in a namespace; an empty one stands for all.
func (a *API) may(ctx context.Context, namespace, group, resource, verb string) (bool, error) {
	resource, sub, _ := strings.Cut(resource, "/")
	review := &authorization.SelfSubjectAccessReview{Spec: authorization.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorization.ResourceAttributes{Namespace: namespace, Verb: verb, Group: group, Resource: resource, Subresource: sub},
	}}
	answer, err := a.client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return false, err
	}
	return answer.Status.Allowed, nil
}
