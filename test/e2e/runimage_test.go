package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// apiServer answers a run's first requests as a cluster of one node does, and cannot create its namespace.
type apiServer struct {
	mu      sync.Mutex
	images  []string // of the node
	forbids bool     // the user has no permissions
}

func (s *apiServer) has(image string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.images = append(s.images, image)
}

func (s *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	object := map[string]any{}
	w.Header().Set("Content-Type", "application/json")
	switch r.URL.Path {
	case "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews":
		object["status"] = map[string]any{"allowed": !s.forbids}
	case "/version":
		object["gitVersion"] = "v1.34.4"
	case "/api/v1/nodes":
		object["items"] = []any{map[string]any{
			"metadata": map[string]any{"name": "node-1"},
			"status":   map[string]any{"nodeInfo": map[string]any{"operatingSystem": "linux", "architecture": runtime.GOARCH}, "images": []any{map[string]any{"names": s.images}}},
		}}
	case "/api/v1/namespaces":
	default:
		w.WriteHeader(http.StatusNotFound)
	}
	_ = json.NewEncoder(w).Encode(object) // the client has gone if it fails
}

// startAPIServer returns an API server and a kubeconfig with a context for it.
func startAPIServer(t *testing.T, context string) (s *apiServer, kubeconfig string) {
	t.Helper()
	s = &apiServer{}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: %[1]s,
clusters: [{name: %[1]s, cluster: {server: %[2]q}}], contexts: [{name: %[1]s, context: {cluster: %[1]s, user: me}}], users: [{name: me, user: {}}]}`, context, server.URL)
	if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return s, kubeconfig
}

// runOn starts a run on the cluster of a kubeconfig, with programs that record their arguments and the size of the
// archive in place of kind. It returns what they recorded.
func runOn(t *testing.T, kubeconfig string, args ...string) (s said, recorded string) {
	t.Helper()
	dir := t.TempDir()
	record := filepath.Join(dir, "record")
	script := fmt.Sprintf("#!/bin/sh\necho \"$(basename \"$0\") $*\" >>%[1]s\nfor last; do :; done\ntar -tf \"$last\" | grep -x manifest.json >>%[1]s\n", record)
	if err := os.WriteFile(filepath.Join(dir, "kind"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	c := command(t, t.TempDir(), append([]string{"run", "channels", "--quick", "--arms", "shared", "--on", "kubernetes", "--kubeconfig", kubeconfig}, args...)...)
	c.Env = append(c.Env, "PATH="+dir+":"+os.Getenv("PATH"), "RPCLAB_IMAGE=", "RPCLAB_LOAD_IMAGE=")
	s, err := ran(c)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(record)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return s, string(text)
}

// noNamespace is in the error of a run that had its image.
const noNamespace = "apply Namespace rpclab-"

func TestARunLoadsItsImageIntoAKindClusterOnce(t *testing.T) {
	t.Parallel()
	node, kubeconfig := startAPIServer(t, "kind-lab")
	s, recorded := runOn(t, kubeconfig)
	if want := regexp.MustCompile(`^kind load image-archive --name lab /\S+\.tar\nmanifest.json\n$`); !want.MatchString(recorded) {
		t.Errorf("rpclab ran %q, want kind with an archive", recorded)
	}
	loaded := regexp.MustCompile(`Loaded the image (rpclab:[0-9a-f]{12}) into the nodes: kind load image-archive`).FindStringSubmatch(s.stderr)
	if loaded == nil || !strings.Contains(s.stderr, noNamespace) {
		t.Fatalf("exit code %d, want a run that loaded its image and has no namespace:\n%s", s.code, s.stderr)
	}
	node.has("docker.io/library/" + loaded[1])
	if s, recorded := runOn(t, kubeconfig); recorded != "" || !strings.Contains(s.stderr, noNamespace) {
		t.Errorf("with the image on the node rpclab ran %q:\n%s", recorded, s.stderr)
	}
}

func TestARunLoadsItsImageWithACommandOfTheUser(t *testing.T) {
	t.Parallel()
	_, kubeconfig := startAPIServer(t, "prod")
	s, recorded := runOn(t, kubeconfig, "--load-image", "kind with 'two words'")
	if !regexp.MustCompile(`^kind with two words /\S+\.tar\nmanifest.json\n$`).MatchString(recorded) {
		t.Errorf("rpclab ran %q, want the command with an archive:\n%s", recorded, s.stderr)
	}
}

func TestARunThatCannotLoadItsImageSaysHowToPushIt(t *testing.T) {
	t.Parallel()
	_, kubeconfig := startAPIServer(t, "prod")
	s, recorded := runOn(t, kubeconfig)
	want := regexp.MustCompile(`(?s)nodes lack the image (rpclab:\S+) of this run: node-1\..*the context is prod\.
.*
  rpclab image build --with '' --push REGISTRY/rpclab:\S+
  rpclab run channels --quick --arms shared --on kubernetes --kubeconfig /\S+ --image REGISTRY/rpclab:\S+
`)
	if s.code != 3 || recorded != "" || !want.MatchString(s.stderr) {
		t.Errorf("exit code %d, rpclab ran %q, want 3 and no command:\n%s", s.code, recorded, s.stderr)
	}
}

// An image takes minutes, and stays on the nodes.
func TestARunWithoutPermissionsLoadsNoImage(t *testing.T) {
	t.Parallel()
	node, kubeconfig := startAPIServer(t, "kind-lab")
	node.forbids = true
	s, recorded := runOn(t, kubeconfig)
	if s.code != 3 || recorded != "" || !strings.Contains(s.stderr, "lacks permissions that a run needs") {
		t.Errorf("exit code %d, rpclab ran %q, want 3 and no command:\n%s", s.code, recorded, s.stderr)
	}
}
