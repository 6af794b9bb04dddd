// Package dashboards defines Grafana dashboards as code: for the metrics of the gateways and
// servers of `rpclab lab up balancing`, and of a run in progress. Its output depends only on the
// code.
package dashboards

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

//go:generate go run ../generate ../grafana

// Files are all dashboards as JSON, by file name.
func Files() (map[string][]byte, error) {
	files := map[string][]byte{}
	for name, build := range map[string]func() (dashboard.Dashboard, error){
		"study.json": study, "balancing.json": balancing, "run.json": run,
	} {
		built, err := build()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		number(built.Panels)
		var text bytes.Buffer
		encoder := json.NewEncoder(&text)
		encoder.SetEscapeHTML(false) // so that people can read the queries
		encoder.SetIndent("", "  ")
		if err := encoder.Encode(built); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		files[name] = text.Bytes()
	}
	return files, nil
}

// number sets the IDs of rows and panels, which Grafana requires to differ.
func number(panels []dashboard.PanelOrRowPanel) {
	for i, p := range panels {
		id := uint32(i + 1)
		if p.RowPanel != nil {
			p.RowPanel.Id = id
		} else {
			p.Panel.Id = &id
		}
	}
}
