package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	authorization "k8s.io/api/authorization/v1"

	"rpclab/internal/cluster/kubernetes"
)

// A tool whose program was ended is not one that does not run.
func TestAnInterruptedDoctorFindsNothing(t *testing.T) {
	t.Setenv("RPCLAB_DATA_DIR", t.TempDir())
	ctx, interrupt := context.WithCancel(t.Context())
	interrupt()
	var out bytes.Buffer
	command := root()
	command.SetOut(&out)
	command.SetArgs([]string{"doctor"})
	if err := command.ExecuteContext(ctx); exitCode(err) != exitInterrupted || out.Len() > 0 {
		t.Errorf("it ends with exit code %d (%v) and prints %q, want %d and nothing", exitCode(err), err, &out, exitInterrupted)
	}
}

// A damaged store opens; only reading it shows the damage.
func TestDoctorSaysTheSameOfADamagedStoreAsRuns(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("RPCLAB_DATA_DIR", dir)
	if f := store(t.Context()); f.state != "ok" || f.seen != filepath.Join(dir, "runs.db") {
		t.Fatalf("of a new store it finds %+v", f)
	}
	file := filepath.Join(dir, "runs.db")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	const page = 4096
	for i := page; i < len(text); i++ { // all but the schema
		text[i] = 0xff
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	command := root()
	command.SetOut(io.Discard)
	command.SetArgs([]string{"runs"})
	said := command.Execute()
	if f := store(t.Context()); said == nil || f.state != "lacks" || f.help != said.Error() || !strings.Contains(f.help, "the file is damaged") {
		t.Errorf("it finds %+v, but runs says %v", f, said)
	}
}

// oneNode starts an API server with one node without images, which answers questions only. It permits all but what is denied,
// such as create pods/eviction.
func oneNode(t *testing.T, name, taints string, denied ...string) kubernetes.ClientConfig {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.Method == http.MethodGet && r.URL.Path == "/version":
			fmt.Fprint(w, `{"gitVersion": "v1.34.4"}`)
		case r.Method == http.MethodGet && r.URL.Path == "/api/v1/nodes":
			fmt.Fprintf(w, `{"items": [{"metadata": {"name": "n1"}, "spec": {"taints": [%s]}, "status": {"nodeInfo": {"operatingSystem": "linux", "architecture": %q}}}]}`, taints, runtime.GOARCH)
		case r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/selfsubjectaccessreviews"):
			var review authorization.SelfSubjectAccessReview
			if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
				t.Error(err)
			}
			wanted := review.Spec.ResourceAttributes
			review.Status.Allowed = !slices.Contains(denied, strings.TrimSuffix(wanted.Verb+" "+wanted.Resource+"/"+wanted.Subresource, "/"))
			_ = json.NewEncoder(w).Encode(review)
		default:
			t.Errorf("the request is %s %s, want only questions", r.Method, r.URL)
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	t.Cleanup(server.Close)
	return kubernetes.ClientConfig{Kubeconfig: kubeconfig(t, server.URL, name)}
}

// kubeconfig writes a file with a context for an API server.
func kubeconfig(t *testing.T, server, name string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	config := fmt.Sprintf(`{"apiVersion": "v1", "kind": "Config", "current-context": %q, "clusters": [{"name": "c", "cluster": {"server": %q}}], "contexts": [{"name": %[1]q, "context": {"cluster": "c"}}]}`, name, server)
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestDoctorSaysWhatRunsOnAClusterLack(t *testing.T) {
	t.Setenv("RPCLAB_IMAGE", "")
	t.Setenv("RPCLAB_LOAD_IMAGE", "")
	const taint = `{"key": "k", "effect": "NoSchedule"}`
	for _, c := range []struct {
		where kubernetes.ClientConfig
		want  []string // parts of the state, what was seen and the help of each finding
	}{
		{oneNode(t, "c", ""), []string{"ok v1.34.4 (context c)", "ok all that runs use", "note rpclab cannot load images into these nodes Push"}},
		{oneNode(t, "c", taint, "create pods/eviction"), []string{"note v1.34.4 (context c) No node accepts", "note those of every run, but not all of nodes This user lacks, in all namespaces: nodes (create pods/eviction);", "note"}},
		{oneNode(t, "c", "", "create namespaces", "patch pods/ephemeralcontainers"), []string{"ok v1.34.4", "note not those of every run This user lacks, in all namespaces: run (create namespaces); usage (patch pods/ephemeralcontainers);", "note"}},
		{kubernetes.ClientConfig{Kubeconfig: kubeconfig(t, "http://127.0.0.1:1", "c")}, []string{"note not usable no Kubernetes answers at http://127.0.0.1:1"}},
	} {
		found := onKubernetes(t.Context(), c.where)
		if len(found) != len(c.want) {
			t.Errorf("%d findings %+v, want %d", len(found), found, len(c.want))
			continue
		}
		for i, f := range found {
			if text := strings.TrimSpace(f.state + " " + f.seen + " " + f.help); !strings.HasPrefix(text, c.want[i]) {
				t.Errorf("%s: %s\nwant %s", f.what, text, c.want[i])
			}
		}
	}
}

func TestDoctorSaysHowImagesGetToTheNodes(t *testing.T) {
	t.Setenv("RPCLAB_IMAGE", "")
	t.Setenv("RPCLAB_LOAD_IMAGE", "")
	t.Setenv("PATH", t.TempDir()) // without kind
	api := connected(t, oneNode(t, "kind-mine", ""))
	if f := nodeImages(api); f.state != "note" || f.seen != "loaded by kind load image-archive --name mine" || !strings.Contains(f.help, "kind is not installed") {
		t.Errorf("without kind: %+v", f)
	}
	t.Setenv("RPCLAB_IMAGE", "registry.example/rpclab:1")
	if f := nodeImages(api); f.state != "ok" || !strings.Contains(f.seen, "registry.example/rpclab:1") {
		t.Errorf("with an image: %+v", f)
	}
}

func TestWithoutAClusterDoctorHasOneNoteOfKubernetes(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	found := onKubernetes(t.Context(), kubernetes.ClientConfig{})
	if len(found) != 1 || found[0].state != "note" || found[0].seen != "not configured" {
		t.Errorf("it finds %+v, want that no cluster is configured", found)
	}
}

// connected is a connection to a cluster.
func connected(t *testing.T, where kubernetes.ClientConfig) *kubernetes.API {
	t.Helper()
	api, err := kubernetes.Connect(t.Context(), where)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(api.Close)
	return api
}
