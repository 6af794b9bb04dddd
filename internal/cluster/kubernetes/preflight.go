package kubernetes

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	authorization "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// CheckPermissions fails unless this user has the permissions of a run.
func (a *API) CheckPermissions(ctx context.Context) error {
	missing, err := a.missing(ctx, Permissions()[PermissionsOfRun])
	if err != nil || len(missing) == 0 {
		return err
	}
	role, err := yaml.Marshal(rbacv1.ClusterRole{
		TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "ClusterRole"},
		ObjectMeta: metav1.ObjectMeta{Name: manager},
		Rules:      Permissions()[PermissionsOfRun], // all: an earlier role of this name would lose those that are not missing
	})
	if err != nil {
		return err
	}
	return fmt.Errorf("this user of %s lacks permissions that a run needs: %s\nAsk the administrator for this role:\n\n%s\n"+
		"Apply that, then `kubectl create clusterrolebinding %s-NAME --clusterrole=%s --user=NAME`",
		a.config.Host, strings.Join(missing, ", "), role, manager, manager)
}

// MissingPermissions are those of [Permissions] that this user lacks in all namespaces, by group. Groups of which none is
// missing are left out.
func (a *API) MissingPermissions(ctx context.Context) (map[string][]string, error) {
	var mu sync.Mutex
	byGroup := map[string][]string{}
	each, ctx := errgroup.WithContext(ctx)
	for group, rules := range Permissions() {
		each.Go(func() error {
			missing, err := a.missing(ctx, rules)
			if len(missing) > 0 {
				mu.Lock()
				defer mu.Unlock()
				byGroup[group] = missing
			}
			return err
		})
	}
	return byGroup, each.Wait()
}

// missing are the permissions of rules that this user lacks in all namespaces, such as create pods/portforward.
func (a *API) missing(ctx context.Context, needed []rbacv1.PolicyRule) ([]string, error) {
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
					lacks[i] = append(lacks[i], verb+" "+rule.Resources[0])
				}
			}
			return nil
		})
	}
	if err := each.Wait(); err != nil {
		return nil, err
	}
	return slices.Concat(lacks...), nil
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
