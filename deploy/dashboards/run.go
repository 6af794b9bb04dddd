package dashboards

import (
	"fmt"

	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/units"
)

// run shows a run in progress, from the metrics of `rpclab run --metrics`.
func run() (dashboard.Dashboard, error) {
	byArm := "{{arm}} {{cell}}"
	return start("Run", "rpclab-run",
		"A run in progress: `rpclab run … --metrics 127.0.0.1:9464`. The report has the results.").
		WithRow(dashboard.NewRowBuilder("Progress")).
		WithPanel(figure("Done", "Completed trials, of all planned trials.",
			units.PercentUnit, 6, now(`rpclab_run_trials_done / rpclab_run_trials_planned`, "")).Min(0).Max(1)).
		WithPanel(figure("Time left", "Estimated from the completed trials. Empty while unknown, and at the end.",
			units.Seconds, 6, now(`rpclab_run_remaining_seconds`, "")).Decimals(0)).
		WithPanel(figure("Arm", "The running arm and its cell of the sweep.",
			units.NoUnit, 12, now(`rpclab_trial_info`, byArm)).TextMode(common.BigValueTextModeName)).
		WithRow(dashboard.NewRowBuilder("Calls")).
		WithPanel(lines("Calls per second", "Calls that ended, by arm.",
			units.RequestsPerSecond, 12, over(perSecond("rpclab_calls_total", "arm, cell"), byArm))).
		WithPanel(lines("Failed calls per second", "Calls that ended with a code other than OK. A line at zero without a code: none failed.",
			units.RequestsPerSecond, 12, over(failuresOfArms(), byArm+" {{code}}"))).
		WithRow(dashboard.NewRowBuilder("Latency of answered calls, from the time a call was due")).
		WithPanel(lines("Median", "Half of the answered calls took at most this. Failed and dropped calls are not included. Interpolated within a bucket of the histogram.",
			units.Seconds, 8, over(quantileOfArms(0.5), byArm))).
		WithPanel(lines("p90", "Nine of ten answered calls took at most this. Failed and dropped calls are not included.",
			units.Seconds, 8, over(quantileOfArms(0.9), byArm))).
		WithPanel(lines("p99", "99 of 100 answered calls took at most this. Failed and dropped calls are not included.",
			units.Seconds, 8, over(quantileOfArms(0.99), byArm))).
		WithRow(dashboard.NewRowBuilder("Backends")).
		WithPanel(lines("Calls per second by backend", "Calls that each backend answered.",
			units.RequestsPerSecond, 16, over(perSecond("rpclab_backend_calls_total", "arm, backend"), "{{arm}} {{backend}}"))).
		WithPanel(lines("Events", "Events since the start of the run.",
			units.NoUnit, 8, over(`sum by (arm, what) (rpclab_events_total)`, "{{arm}} {{what}}"))).
		Build()
}

func perSecond(counter, by string) string {
	return fmt.Sprintf(`sum by (%s) (rate(%s%s))`, by, counter, window)
}

// failuresOfArms is the number of failed calls per second, with a line at zero for each arm, as in
// [failures].
func failuresOfArms() string {
	return fmt.Sprintf(`sum by (arm, cell, code) (rate(rpclab_calls_total{code!="OK"}%[1]s))
or sum by (arm, cell) (0 * rate(rpclab_calls_total%[1]s))`, window)
}

func quantileOfArms(q float64) string {
	return fmt.Sprintf(`histogram_quantile(%g, sum by (arm, cell, le) (rate(rpclab_call_latency_seconds_bucket%s)))`, q, window)
}
