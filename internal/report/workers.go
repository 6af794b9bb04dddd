package report

import (
	"fmt"
	"strings"

	"rpclab/internal/result"
)

// idleWorkers says of which arms some of the proxy's workers had nothing to do.
func idleWorkers(p *page, d result.Document) {
	for _, arm := range d.Arms {
		var workers, connections int
		fewest, most := -1, 0
		for _, t := range arm.Trials {
			if t.Failed != "" || len(t.ProxyConnections) == 0 {
				continue
			}
			idle, all := 0, uint64(0)
			for _, n := range t.ProxyConnections {
				all += n
				if n == 0 {
					idle++
				}
			}
			workers, connections = len(t.ProxyConnections), int(all)
			if fewest < 0 || idle < fewest {
				fewest = idle
			}
			most = max(most, idle)
		}
		if most == 0 {
			continue
		}
		idle := fmt.Sprint(most)
		if fewest < most {
			idle = fmt.Sprintf("%d to %d", fewest, most)
		}
		p.say(fmt.Sprintf("%s: %s of the proxy's %d workers had nothing to do: callers opened %s, and one stays, with all its calls, "+
			"with the worker that accepted it. More workers help where there are more connections.",
			strings.Join(filled(clean(arm.Name), cellName(arm.Cell)), " at "), idle, workers, plural(connections, "connection")))
	}
}
