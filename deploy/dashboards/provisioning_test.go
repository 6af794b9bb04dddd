package dashboards

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"gopkg.in/yaml.v3"
)

// provisioned reads a file of Grafana's provisioning and refuses fields that are not in to.
func provisioned(t *testing.T, name string, to any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../grafana/provisioning", name)) // Grafana reads these two directories
	if err != nil {
		t.Fatal(err)
	}
	file := yaml.NewDecoder(bytes.NewReader(text))
	file.KnownFields(true)
	if err := file.Decode(to); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// Grafana finds the Prometheus and the dashboards of the commands in deploy/README.md, and takes windows from Prometheus's
// scrape interval.
func TestProvisioningFitsTheCommandsOfTheReadme(t *testing.T) {
	var sources struct {
		APIVersion  int `yaml:"apiVersion"`
		Datasources []struct {
			Name, Type, Access, URL string
			IsDefault               bool `yaml:"isDefault"`
			JSONData                struct {
				TimeInterval string `yaml:"timeInterval"`
			} `yaml:"jsonData"`
		}
	}
	provisioned(t, "datasources/prometheus.yml", &sources)
	var boards struct {
		APIVersion int `yaml:"apiVersion"`
		Providers  []struct {
			Name, Type string
			Options    struct{ Path string }
		}
	}
	provisioned(t, "dashboards/rpclab.yml", &boards)
	if sources.APIVersion != 1 || len(sources.Datasources) != 1 || boards.APIVersion != 1 || len(boards.Providers) != 1 {
		t.Fatalf("the sources are %+v, and the providers %+v; want one of each, of version 1", sources, boards)
	}

	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	after := func(pattern string) string {
		t.Helper()
		found := regexp.MustCompile(pattern).FindSubmatch(readme)
		if found == nil {
			t.Fatalf("deploy/README.md has no %s", pattern)
		}
		return string(found[1])
	}
	var prometheus struct {
		Global struct {
			Interval string `yaml:"scrape_interval"`
		}
	}
	text, err := os.ReadFile(filepath.Join("../..", after(`--config\.file (\S+)`)))
	if err == nil {
		err = yaml.Unmarshal(text, &prometheus)
	}
	if err != nil {
		t.Fatal(err)
	}
	s := sources.Datasources[0]
	if s.Type != "prometheus" || s.Access != "proxy" || !s.IsDefault || s.URL != "http://"+after(`--web\.listen-address (\S+)`) || s.JSONData.TimeInterval != prometheus.Global.Interval {
		t.Errorf("the data source is %+v, and Prometheus scrapes every %s", s, prometheus.Global.Interval)
	}
	if p := boards.Providers[0]; p.Type != "file" || p.Options.Path != "$RPCLAB_DASHBOARDS" {
		t.Errorf("the provider is %+v", p)
	}
	for variable, want := range map[string]string{"RPCLAB_DASHBOARDS": "deploy/grafana", "GF_PATHS_PROVISIONING": "deploy/grafana/provisioning"} {
		if dir := after(variable + `=\$PWD/(\S+)`); dir != want {
			t.Errorf("%s is %s, want %s", variable, dir, want)
		}
	}
}
