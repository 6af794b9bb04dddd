package kube

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rpclab/internal/process"
	"rpclab/internal/testkit"
	"rpclab/test/dashboards/board"
)

// prometheus starts Prometheus in the network of the nodes, with the configuration of deploy, but for its interval,
// and the targets that a lab wrote next to it. It returns where Prometheus answers there.
func prometheus(t *testing.T, dir string) (url string) {
	t.Helper()
	text, err := os.ReadFile("../../deploy/prometheus/prometheus.yml")
	if err != nil {
		t.Fatal(err)
	}
	quick := bytes.ReplaceAll(text, []byte("scrape_interval: 10s"), []byte("scrape_interval: 1s"))
	if err := os.WriteFile(filepath.Join(dir, "prometheus.yml"), quick, 0o600); err != nil {
		t.Fatal(err)
	}
	const at = "127.0.0.1:9091"
	p, err := process.Start(process.Spec{Args: []string{clusterProgram(t), "exec", "--name", filepath.Base(clusterDir(t)), "--", testkit.Tool(t, "prometheus"),
		"--config.file=" + filepath.Join(dir, "prometheus.yml"), "--storage.tsdb.path=" + filepath.Join(dir, "data"),
		"--web.listen-address=" + at, "--log.level=warn"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if p.Stop(30 * time.Second); t.Failed() {
			t.Logf("the last lines of Prometheus:\n%s", p.Log())
		}
	})
	return "http://" + at
}

// answer returns the series, label by label, of the answer of Prometheus to a query.
func answer(t *testing.T, url, query string) (series []map[string]string) {
	t.Helper()
	said := onNodeNetwork(t, "curl", "-sSf", "--retry", "30", "--retry-delay", "1", "--retry-connrefused", "--get", "--data-urlencode", "query="+query, url+"/api/v1/query")
	var found struct {
		Status string
		Error  string
		Data   struct {
			Result []struct {
				Metric map[string]string
				Value  [2]any // a time and a number as text
			}
		}
	}
	if err := json.Unmarshal([]byte(said), &found); err != nil || found.Status != "success" {
		t.Fatalf("%s: %v %s", query, err, said)
	}
	for _, r := range found.Data.Result {
		r.Metric["value"] = fmt.Sprint(r.Value[1])
		series = append(series, r.Metric)
	}
	return series
}

// checkDashboard makes the queries of the study's dashboard until every panel shows the calls of the gateways, and
// compares the calls by server with those that the gateways count.
func checkDashboard(t *testing.T, url string, counted map[string]map[string]int) {
	t.Helper()
	b, err := board.Read("../../deploy/grafana/study.json")
	if err != nil {
		t.Fatal(err)
	}
	queries := 0
	for _, p := range b.Flat() {
		for _, q := range p.Targets {
			for _, query := range q.With(map[string][]string{"further": nil}) { // no gateway of another route runs
				queries++
				testkit.AwaitFor(t, patience, p.Title+" shows "+query, func() bool { return len(answer(t, url, query)) > 0 })
			}
		}
	}
	if want := 3 * len(counted); queries != want {
		t.Errorf("the dashboard makes %d queries, want three for each route, %d", queries, want)
	}
	for mode, servers := range counted {
		query := fmt.Sprintf("sum by (server_name) (grpc_requests_total{mode=%q})", mode)
		testkit.AwaitFor(t, patience, fmt.Sprintf("Prometheus counts the calls %v over %s", servers, mode), func() bool {
			seen := answer(t, url, query)
			for _, s := range seen {
				if s["value"] != fmt.Sprint(servers[s["server_name"]]) {
					return false
				}
			}
			return len(seen) == len(servers)
		})
	}
	if seen := answer(t, url, `count by (job) (up{job=~"gateway|server"} == 1)`); !strings.Contains(fmt.Sprint(seen), "job:gateway value:3") {
		t.Errorf("Prometheus reads %v, want three gateways", seen)
	}
}
