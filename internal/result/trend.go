package result

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// figure is a number of an arm that runs of the same experiment are followed by.
type figure struct {
	name string
	of   func(Arm) (value float64, known bool)
}

// figures are kept beside every finished run, one column each: a trend over a thousand
// runs must not read their documents, which are megabytes each.
var figures = []figure{
	{"p50", latencyFigure(func(h Histogram) float64 { return h.P50 })},
	{"p90", latencyFigure(func(h Histogram) float64 { return h.P90 })},
	{"p99", latencyFigure(func(h Histogram) float64 { return h.P99 })},
	{"p999", latencyFigure(func(h Histogram) float64 { return h.P999 })},
	{"mean", latencyFigure(func(h Histogram) float64 { return h.Mean })},
	{"rate", func(a Arm) (float64, bool) { return a.Rate, a.Rate > 0 }},
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
	return func(a Arm) (float64, bool) { return of(a.Latency), !a.Latency.Empty() }
}

// Figures are the names of what a [Store.Trend] can be of: p50, p90, p99, p999 and mean of
// the latency in ms, rate and capacity in calls/s, errors as a share of the calls due,
// client_cpu and server_cpu in µs per call, and balance as Jain's index.
func Figures() (names []string) {
	for _, f := range figures {
		names = append(names, f.name)
	}
	return names
}

// TrendPoint is one figure of one arm in one run.
type TrendPoint struct {
	Run     string    `json:"run"`
	Started time.Time `json:"started"`
	Arm     string    `json:"arm"`
	Cell    string    `json:"cell"` // as [Cell.String] has it
	Value   float64   `json:"value"`
	Quick   bool      `json:"quick"`   // of a --quick run, which is another load
	Partial bool      `json:"partial"` // of a run that ended early
}

// Trend is a figure of every arm over all finished runs of an experiment, oldest first;
// see [Figures].
func (s *Store) Trend(ctx context.Context, experiment, name string) ([]TrendPoint, error) {
	if !slices.Contains(Figures(), name) {
		return nil, fmt.Errorf("there is no figure %q; there are %s", name, strings.Join(Figures(), ", "))
	}
	rows, err := s.db.QueryContext(ctx, `SELECT r.id, r.started, r.quick, r.partial, f.arm, f.cell, f.`+name+`
		FROM runs r JOIN figures f ON f.run = r.id
		WHERE r.experiment = ? AND f.`+name+` IS NOT NULL ORDER BY r.started, r.id, f.seq`, experiment)
	if err != nil {
		return nil, storeError(s.path, "read a trend", err)
	}
	defer rows.Close()
	points := []TrendPoint{}
	for rows.Next() {
		var p TrendPoint
		var started int64
		if err := rows.Scan(&p.Run, &started, &p.Quick, &p.Partial, &p.Arm, &p.Cell, &p.Value); err != nil {
			return nil, storeError(s.path, "read a trend", err)
		}
		p.Started = time.UnixMilli(started).UTC()
		points = append(points, p)
	}
	if err := rows.Err(); err != nil {
		return nil, storeError(s.path, "read a trend", err)
	}
	return points, nil
}

// saveFigures writes the figures of a finished run beside it, in place of older ones.
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

// migrate gives a store of version 2 what later ones keep for lists and trends. A document
// that cannot be read has no figures; who asks for it hears why.
func migrate(ctx context.Context, tx *sql.Tx) error {
	if _, err := tx.ExecContext(ctx, fromTwo); err != nil {
		return err
	}
	var last string
	for {
		var document string
		err := tx.QueryRowContext(ctx, "SELECT id, document FROM runs WHERE id > ? AND document IS NOT NULL ORDER BY id LIMIT 1", last).Scan(&last, &document)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		d, err := decode([]byte(document))
		if err != nil {
			continue
		}
		d.ID = last
		if err := saveFigures(ctx, tx, d); err != nil {
			return err
		}
	}
}
