package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWhyAClusterCannotBeUsed(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	for _, c := range []struct {
		name   string
		ctx    context.Context
		handle http.HandlerFunc
		want   string
	}{
		{"an expired token", t.Context(), func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }, "refuses the credentials of the kubeconfig"},
		{"another server", t.Context(), http.NotFound, "no Kubernetes answers"},
		{"an interrupt", ctx, func(_ http.ResponseWriter, r *http.Request) {
			interrupt()
			<-r.Context().Done()
		}, context.Canceled.Error()},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := httptest.NewServer(c.handle)
			defer server.Close()
			file := filepath.Join(t.TempDir(), "kubeconfig")
			text := fmt.Sprintf(`{"apiVersion": "v1", "kind": "Config", "current-context": "c", "clusters": [{"name": "c", "cluster": {"server": %q}}], "contexts": [{"name": "c", "context": {"cluster": "c"}}]}`, server.URL)
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := Connect(c.ctx, ClientConfig{Kubeconfig: file})
			if err == nil || !strings.Contains(err.Error(), c.want) || errors.Is(err, context.Canceled) != (c.ctx == ctx) {
				t.Errorf("error %v, want %s", err, c.want)
			}
		})
	}
}

func TestAKubeconfigWithoutACurrentContextNamesItsContexts(t *testing.T) {
	file := filepath.Join(t.TempDir(), "kubeconfig")
	const text = `{"apiVersion": "v1", "kind": "Config", "contexts": [{"name": "prod", "context": {}}, {"name": "dev", "context": {}}]}`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Connect(t.Context(), ClientConfig{Kubeconfig: file})
	if want := "it has no current context; --context selects one of dev, prod"; !errors.Is(err, ErrKubeconfig) || !strings.Contains(err.Error(), want) {
		t.Errorf("the error is %v, want %s", err, want)
	}
}
