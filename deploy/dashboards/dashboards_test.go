package dashboards

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/grafana/grafana-foundation-sdk/go/cog/plugins"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	plugins.RegisterDefaultPlugins() // the types of panels and queries
	goleak.VerifyTestMain(m)
}

func TestCommittedDashboardsAreCurrent(t *testing.T) {
	fresh, err := Files()
	if err != nil {
		t.Fatal(err)
	}
	committed, err := filepath.Glob("../grafana/*.json")
	if err != nil || len(committed) != len(fresh) {
		t.Errorf("the committed files are %v (error %v), want the %d files of the code", committed, err, len(fresh))
	}
	for name, text := range fresh {
		old, err := os.ReadFile(filepath.Join("../grafana", name))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(old), string(text)); diff != "" {
			t.Errorf("%s is outdated (-committed +code); run: go generate ./deploy/...\n%s", name, diff)
		}
	}
}

// Grafana's types reject unknown fields.
func TestGrafanaAcceptsEveryDashboard(t *testing.T) {
	files, err := Files()
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		var read dashboard.Dashboard
		if err := read.UnmarshalJSONStrict(text); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := read.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
