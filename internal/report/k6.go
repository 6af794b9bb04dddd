package report

import (
	"crypto/md5"
	"encoding/json"
	"fmt"
	"io"

	"rpclab/internal/result"
)

// K6Summary writes the metrics of a run as `k6 run --summary-export` does. A call is an iteration, and its success a check. If
// the run has several arms, each has metrics of its own, with the tag arm and the axes of its cell. Times are in milliseconds; a
// lost call counts as its deadline.
func K6Summary(w io.Writer, d result.Document) error {
	metrics := map[string]any{}
	passed, failed := uint64(0), uint64(0)
	for _, arm := range d.Arms {
		tags := ""
		if len(d.Arms) > 1 {
			tags = "{arm:" + clean(arm.Name)
			if cell := arm.Cell.String(); cell != "" {
				tags += ",cell:" + clean(cell)
			}
			tags += "}"
		}
		due := arm.Calls + arm.Dropped
		if due == 0 { // k6 has no metric without a sample
			continue
		}
		good := arm.Calls - min(arm.Failed(), arm.Calls)
		passed, failed = passed+good, failed+due-good
		metrics["iterations"+tags] = map[string]any{"count": arm.Calls, "rate": arm.Rate}
		metrics["dropped_iterations"+tags] = droppedIterations(arm)
		metrics["checks"+tags] = map[string]any{"passes": good, "fails": due - good, "value": 1 - arm.Lost()}
		if h := arm.Latency.Bounded(); !h.Empty() {
			metrics["iteration_duration"+tags] = map[string]any{
				"avg": h.Mean, "min": h.Min, "med": h.P50, "max": h.Max, "p(90)": h.P90, "p(95)": h.P95, "p(99)": h.P99, "p(99.9)": h.P999,
			}
		}
	}
	const path = "::calls succeed"
	out := json.NewEncoder(w)
	out.SetIndent("", "    ")
	return out.Encode(map[string]any{
		"metrics": metrics,
		"root_group": map[string]any{"name": "", "path": "", "id": k6ID(""), "groups": map[string]any{}, "checks": map[string]any{
			"calls succeed": map[string]any{"name": "calls succeed", "path": path, "id": k6ID(path), "passes": passed, "fails": failed},
		}},
	})
}

// droppedIterations has the calls that an arm dropped, and their rate if the length of its loads is known.
func droppedIterations(arm result.Arm) map[string]any {
	seconds := 0.0
	for _, t := range arm.Trials {
		seconds += t.RateMS() / 1e3
	}
	counter := map[string]any{"count": arm.Dropped}
	if seconds > 0 {
		counter["rate"] = float64(arm.Dropped) / seconds
	}
	return counter
}

// k6ID is the ID that k6 gives a group or check: the MD5 of its path.
func k6ID(path string) string { return fmt.Sprintf("%x", md5.Sum([]byte(path))) }
