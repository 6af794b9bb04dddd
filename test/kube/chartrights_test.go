package kube

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"rpclab/internal/cluster/kubernetes"
)

// TestChartGivesRunsTheirPermissionsOnly runs from within the cluster, and checks every rule by impersonation.
func TestChartGivesRunsTheirPermissionsOnly(t *testing.T) {
	t.Parallel()
	const namespace, name = "rights", "rights-rpclab"
	chartNamespace(t, namespace)
	release := []string{"--namespace", namespace, "-f", chartValues, "--set", "image=" + image(t), "--set", "page.enabled=false", "--set", "storage.enabled=false",
		"--set", "experiment.gates=null", "--set", "experiment.args={/etc/rpclab/small.yaml}", "--set", "repeat.enabled=false", "--set", "job.enabled=true", "--set", "experiment.on=kubernetes", "rights", chart}
	helm(t, append([]string{"install"}, release...)...)
	if ended, log := jobEnd(t, namespace, name+"-1"); !strings.Contains(ended, "Complete") {
		t.Errorf("a run in the cluster with the permissions of a run ends with %q:\n%s", ended, log)
	}
	all := kubernetes.Permissions()
	for _, mode := range slices.Sorted(maps.Keys(all)) {
		granted := []string{kubernetes.PermissionsOfRun}
		if mode != kubernetes.PermissionsOfRun {
			granted = append(granted, mode)
		}
		modes, err := json.Marshal(granted)
		if err != nil {
			t.Fatal(err)
		}
		role := filepath.Join(t.TempDir(), mode+".yaml")
		text := helm(t, append([]string{"template", "--show-only", "templates/rbac.yaml", "--set-json", "permissions=" + string(modes)}, release...)...)
		if err := os.WriteFile(role, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		kubectl(t, "apply", "-f", role)
		want := map[string]bool{}
		for _, each := range granted {
			maps.Copy(want, permissions(all[each]))
		}
		if diff := cmp.Diff(want, permissionsOf(t, "system:serviceaccount:"+namespace+":"+name+"-run")); diff != "" {
			t.Errorf("with the permissions %v a run may do something else (+) than it should (-):\n%s", granted, diff)
		}
	}
	helm(t, "uninstall", "--namespace", namespace, "--wait", "rights")
}

// Secrets of the whole cluster are not needed to copy a Deployment of one namespace.
func TestChartPermitsServicesOfNamedNamespacesOnly(t *testing.T) {
	t.Parallel()
	type object struct {
		Kind     string
		Metadata struct{ Name, Namespace string }
		Rules    []rbacv1.PolicyRule
		RoleRef  struct{ Kind, Name string }
		Subjects []rbacv1.Subject
	}
	rules, bound := map[string]map[string]bool{}, map[string]string{}
	text := helm(t, "template", "--namespace", "rpclab", "--show-only", "templates/rbac.yaml", "--set", "image=rpclab:1,experiment.on=kubernetes",
		"--set", "permissions={run,nodes,service,deployment,disruption}", "--set-string", "namespaces={shop,7}", "lab", chart)
	for part := range strings.SplitSeq(text, "\n---") {
		var o object
		if err := yaml.Unmarshal([]byte(part), &o); err != nil {
			t.Fatalf("%v in:\n%s", err, part)
		}
		switch o.Kind {
		case "ClusterRole":
			rules[o.Metadata.Name] = permissions(o.Rules)
		case "ClusterRoleBinding", "RoleBinding":
			bound[o.Metadata.Namespace] = o.RoleRef.Name
			if who := (rbacv1.Subject{Kind: "ServiceAccount", Name: "lab-rpclab-run", Namespace: "rpclab"}); !slices.Equal(o.Subjects, []rbacv1.Subject{who}) {
				t.Errorf("the %s in the namespace %q is for %v, want %v", o.Kind, o.Metadata.Namespace, o.Subjects, who)
			}
		}
	}
	if want := map[string]string{"": "rpclab-lab-rpclab-run", "shop": "rpclab-lab-rpclab-run-services", "7": "rpclab-lab-rpclab-run-services"}; !maps.Equal(bound, want) {
		t.Errorf("namespaces have the roles %v, want %v", bound, want)
	}
	all := kubernetes.Permissions()
	everywhere := permissions(slices.Concat(all[kubernetes.PermissionsOfRun], all["nodes"]))
	there := permissions(slices.Concat(all["service"], all["deployment"], all["disruption"]))
	for _, created := range []string{ // in the namespace of the run
		"create endpointslices.discovery.k8s.io", "patch endpointslices.discovery.k8s.io", "delete endpointslices.discovery.k8s.io", "create configmaps", "patch configmaps",
	} {
		everywhere[created] = true
		delete(there, created)
	}
	if diff := cmp.Diff(map[string]map[string]bool{"rpclab-lab-rpclab-run": everywhere, "rpclab-lab-rpclab-run-services": there}, rules); diff != "" {
		t.Errorf("the roles have other rules (+) than they should (-):\n%s", diff)
	}
}

// permissions are single permissions, such as patch deployments.apps/scale.
func permissions(rules []rbacv1.PolicyRule) map[string]bool {
	all := map[string]bool{}
	for _, rule := range rules {
		resource, sub, _ := strings.Cut(rule.Resources[0], "/")
		if rule.APIGroups[0] != "" {
			resource += "." + rule.APIGroups[0]
		}
		if sub != "" {
			resource += "/" + sub
		}
		for _, verb := range rule.Verbs {
			all[verb+" "+resource] = true
		}
	}
	return all
}

// permissionsOf are the permissions of a user in every namespace, without those that all users have.
func permissionsOf(t *testing.T, user string) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	for line := range strings.Lines(kubectl(t, "auth", "can-i", "--list", "--no-headers", "--as="+user, "-n", "default")) {
		resource, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		if resource == "" || strings.HasPrefix(resource, "[") || strings.HasPrefix(resource, "self") { // a URL, or a review of oneself
			continue
		}
		verbs := rest[strings.LastIndex(rest, "[")+1:]
		for verb := range strings.FieldsSeq(strings.TrimSuffix(verbs, "]")) {
			all[verb+" "+resource] = true
		}
	}
	return all
}
