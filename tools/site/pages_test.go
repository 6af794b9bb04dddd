package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/net/html"

	"rpclab/experiments"
	"rpclab/internal/testkit/pages"
)

// shown counts what a page has.
type shown struct{ Headings, Items, Tables, Blocks int }

var (
	fenced  = regexp.MustCompile("(?ms)^(````*)[^\n]*\n.*?^````*$")
	title   = regexp.MustCompile(`(?m)^#+ `)
	items   = regexp.MustCompile(`(?m)^ *(?:[-*]|\d+\.) `)
	columns = regexp.MustCompile(`(?m)^\|[-:| ]+\|$`)
)

// TestPagesLookAsOnACodeHost compares the numbers of headings, list items, tables and code blocks of a page with those of its
// Markdown, which code hosts read more generously: a table may follow a paragraph without an empty line there.
func TestPagesLookAsOnACodeHost(t *testing.T) {
	_, built := site(t)
	docs, err := written("../..")
	if err != nil {
		t.Fatal(err)
	}
	for file, place := range docs {
		text, err := os.ReadFile(filepath.Join("../..", file))
		if err != nil {
			t.Fatal(err)
		}
		prose := fenced.ReplaceAllString(string(text), "")
		want := shown{len(title.FindAllString(prose, -1)), len(items.FindAllString(prose, -1)), len(columns.FindAllString(prose, -1)), len(pages.Blocks(string(text)))}
		if diff := cmp.Diff(want, count(built[strings.TrimSuffix(place, ".md")+".html"])); diff != "" {
			t.Errorf("%s: the Markdown (-) and the page of the site (+) differ:\n%s", file, diff)
		}
	}
}

// count counts in the article of a page.
func count(page *html.Node) (n shown) {
	for element := range page.Descendants() {
		if element.Data != "article" || element.Type != html.ElementNode {
			continue
		}
		for e := range element.Descendants() {
			if e.Type != html.ElementNode {
				continue
			}
			switch e.Data {
			case "h1", "h2", "h3", "h4", "h5":
				n.Headings++
			case "li":
				n.Items++
			case "table":
				n.Tables++
			case "pre":
				n.Blocks++
			}
		}
	}
	return n
}

// TestGeneratedPagesAreComplete looks for what the pages of experiments and of formats must say.
func TestGeneratedPagesAreComplete(t *testing.T) {
	dir, built := site(t)
	for _, copied := range []string{"images/architecture.svg", "findings/data/limits.svg", "findings/data/limits.json.gz"} {
		want, err := os.ReadFile(filepath.Join("../../docs", copied))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Join(dir, copied)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not the file that pages have links to: %d bytes, want %d: %v", copied, len(got), len(want), err)
		}
	}
	says := map[string][]string{
		"reference/experiment.html":                  {"load.open.max_in_flight", "default: 10000", "duration, such as 10ms", "integer, 2 to 5", "kill_control"},
		"reference/service.html":                     {"calls.NAME.stream.ping_pong", "server.resources.cpus", "tls.cacert"},
		"reference/result.html":                      {"how long a run must be to detect smaller differences", "latency_ms", "time_limit_ms", "The document", "faultproxy"},
		"reference/comparison.html":                  {"rpclab.comparison/v1", "gateresult"},
		"reference/metrics.html":                     {"rpclab_calls_total", "arm, cell, code", "Finished calls by code."},
		"reference/commands/rpclab_runs_export.html": {"--output file"},
		"reference/commands/index.html":              {"rpclab compare", "rpclab doctor"},
		"experiments/index.html":                     nil,
		"source/examples/ci/gitlab-ci.yml.html":      {"merge_request"},
		"source/examples/ci/index.html":              {"server.py"},
		"source/internal/route/route.go.html":        {"type Route struct"},
		"decisions/index.html":                       {"Three designs"},
		"findings/data/churn.html":                   nil,
		"source/deploy/chart/values.yaml.html":       nil,
		"source/THIRD_PARTY.html":                    nil,
	}
	for _, name := range experiments.Names() {
		e, err := readExperiment(name)
		if err != nil {
			t.Fatal(err)
		}
		all := []string{e.full.Question, "rpclab run " + name + " --quick", "takes at least", "memory, estimated"}
		for _, arm := range e.full.Arms {
			all = append(all, arm.Name, arm.Describe)
		}
		says["experiments/"+name+".html"] = all
		says["experiments/index.html"] = append(says["experiments/index.html"], e.full.Question)
	}
	for name, all := range says {
		page := built[name]
		if page == nil {
			t.Errorf("the site has no page %s", name)
			continue
		}
		var text strings.Builder
		for n := range page.Descendants() {
			if n.Type == html.TextNode {
				text.WriteString(n.Data)
			}
		}
		for _, want := range all {
			if !strings.Contains(strings.Join(strings.Fields(text.String()), " "), strings.Join(strings.Fields(want), " ")) {
				t.Errorf("%s lacks %q", name, want)
			}
		}
	}
}

// TestALinkToAFileBecomesALinkToItsPage covers the forms of links, and code, which stays as it is.
func TestALinkToAFileBecomesALinkToItsPage(t *testing.T) {
	b := &book{root: "../..", places: map[string]string{"README.md": "index.md", "docs/glossary.md": "glossary.md", "docs/method/search.md": "method/search.md"}}
	text := "[a](../glossary.md#arm) `[a](../glossary.md)` <img src=\"../images/report.png\"> [c](../../examples/ci) [d](#here) [e](https://go.dev)\n" +
		"```md\n[a](../glossary.md)\n```\n[f](../../action.yml) [g](../../README.md)\n"
	want := "[a](../glossary.md#arm) `[a](../glossary.md)` <img src=\"../images/report.png\"> [c](../source/examples/ci/index.md) [d](#here) [e](https://go.dev)\n" +
		"```md\n[a](../glossary.md)\n```\n[f](../source/action.yml.md) [g](../index.md)\n"
	if diff := cmp.Diff(want, string(b.relink("docs/method/search.md", []byte(text)))); diff != "" {
		t.Error(diff)
	}
}

// The page of metrics leaves out no series, and shortens no text.
func TestADescriptionThatThePageOfMetricsCannotShow(t *testing.T) {
	for help, readable := range map[string]bool{"Calls of an arm.": true, `Calls of the arm "one".`: false} {
		page, err := metricsPage(func(all chan<- *prometheus.Desc) {
			all <- prometheus.NewDesc("rpclab_some", help, []string{"arm", "code"}, nil)
		})
		if shown := strings.Contains(page, "| `rpclab_some` | arm, code | "+help+" |"); shown != readable || (err == nil) != readable {
			t.Errorf("%s: shown: %t, %v; want shown or an error", help, shown, err)
		}
	}
}
