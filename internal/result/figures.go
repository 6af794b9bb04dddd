package result

import (
	"context"
	"database/sql"
	"strings"
)

// figure is a number of an arm. [Store.Trend] shows its values over runs.
type figure struct {
	name string
	of   func(Arm) (value float64, known bool)
}

// figures are stored in one column each, because a trend over a thousand runs must not read
// documents of megabytes each.
var figures = []figure{
	{"p50", latencyFigure(func(h Histogram) float64 { return h.P50 })},
	{"p90", latencyFigure(func(h Histogram) float64 { return h.P90 })},
	{"p99", latencyFigure(func(h Histogram) float64 { return h.P99 })},
	{"p999", latencyFigure(func(h Histogram) float64 { return h.P999 })},
	{"mean", latencyFigure(func(h Histogram) float64 { return h.Mean })},
	{"rate", func(a Arm) (float64, bool) { return a.Answered(), a.Rate > 0 }},
	{"capacity", func(a Arm) (float64, bool) {
		if a.Capacity == nil {
			return 0, false
		}
		return a.Capacity.Rate, a.Capacity.Rate > 0
	}},
	{"errors", func(a Arm) (float64, bool) { return a.Lost(), a.Calls+a.Dropped > 0 }},
	{"client_cpu", func(a Arm) (float64, bool) { return a.Resources.Client.CPU, a.Resources.Client.CPU > 0 }},
	{"server_cpu", func(a Arm) (float64, bool) { return a.Resources.Server.CPU, a.Resources.Server.CPU > 0 }},
	{"balance", func(a Arm) (float64, bool) { return a.Balance.Jain, a.Balance.Jain > 0 }},
}

func latencyFigure(of func(Histogram) float64) func(Arm) (float64, bool) {
	return func(a Arm) (float64, bool) { return of(a.Latency.Bounded()), !a.Latency.Empty() }
}

// Figures returns the names that [Store.Trend] accepts: p50, p90, p99, p999 and mean of
// the latency in ms, rate (of the successful calls) and capacity in calls/s, errors as a share of the calls due,
// client_cpu and server_cpu in µs per call, and balance as Jain's index.
func Figures() (names []string) {
	for _, f := range figures {
		names = append(names, f.name)
	}
	return names
}

// saveFigures stores the figures of a finished run and replaces older ones.
func saveFigures(ctx context.Context, tx *sql.Tx, d Document) error {
	if _, err := tx.ExecContext(ctx, "DELETE FROM figures WHERE run = ?", d.ID); err != nil {
		return err
	}
	for i, arm := range d.Arms {
		values := []any{d.ID, i, arm.Name, arm.Cell.String()}
		for _, f := range figures {
			if v, known := f.of(arm); known {
				values = append(values, v)
			} else {
				values = append(values, nil)
			}
		}
		marks := strings.TrimSuffix(strings.Repeat("?,", len(values)), ",")
		if _, err := tx.ExecContext(ctx, "INSERT INTO figures (run, seq, arm, cell, "+strings.Join(Figures(), ", ")+") VALUES ("+marks+")", values...); err != nil {
			return err
		}
	}
	return nil
}
