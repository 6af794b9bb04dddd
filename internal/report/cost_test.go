package report

import (
	"slices"
	"strings"
	"testing"

	"rpclab/internal/result"
)

// The sum of what all components used is not known if that of one is not.
func TestTheCostOfAllContainsNoUnknownServer(t *testing.T) {
	arm := func(name string, server result.Usage) result.Arm {
		return result.Arm{Name: name, Measures: result.Measures{Resources: result.Resources{
			Client: result.Usage{CPU: 50, RSS: 1e7}, Proxy: result.Usage{CPU: 30, RSS: 1e7}, Server: server,
		}}}
	}
	var rows []string
	for _, row := range costOf([]result.Arm{arm("ours", result.Usage{CPU: 20, RSS: 1e7}), arm("theirs", result.Usage{})}, processors).rows {
		rows = append(rows, strings.Join(row, "|"))
	}
	if want := []string{"ours|50|30|20|100", "theirs|50|30||"}; !slices.Equal(rows, want) {
		t.Errorf("the rows are %q, want %q", rows, want)
	}
}
