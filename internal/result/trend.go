package result

import (
	"context"
	"fmt"
	"slices"
	"time"

	"rpclab/internal/suggest"
)

// TrendPoint is one figure of one arm in one run.
type TrendPoint struct {
	Run     string    `json:"run"`
	Started time.Time `json:"started"`
	Arm     string    `json:"arm"`
	Cell    string    `json:"cell"` // as of [Cell.String]
	Value   float64   `json:"value"`
	Lost    float64   `json:"lost,omitempty"` // share of the calls: percentiles above 1 - lost are lower bounds
	Quick   bool      `json:"quick"`          // a --quick run, which has a smaller load
	Partial bool      `json:"partial"`        // a run that ended early
}

// TrendRuns selects the finished runs of a trend: the newest of an experiment.
type TrendRuns struct {
	Experiment string
	Most       int  // negative: all
	FullOnly   bool // without quick runs
}

// Trend returns a figure (see [Figures]) of every arm in finished runs of an experiment, oldest run first.
func (s *Store) Trend(ctx context.Context, of TrendRuns, name string) ([]TrendPoint, error) {
	if !slices.Contains(Figures(), name) {
		return nil, fmt.Errorf("no figure %q%s", name, suggest.DidYouMean(name, Figures()))
	}
	rows, err := s.db.QueryContext(ctx, `WITH newest AS (SELECT id, started, quick, partial FROM runs
			WHERE experiment = ?1 AND partial IS NOT NULL AND NOT (?2 AND quick) ORDER BY started DESC, id DESC LIMIT ?3)
		SELECT r.id, r.started, r.quick, r.partial, f.arm, f.cell, f.`+name+`, coalesce(f.errors, 0)
		FROM newest r JOIN figures f ON f.run = r.id
		WHERE f.`+name+` IS NOT NULL ORDER BY r.started, r.id, f.seq`, of.Experiment, of.FullOnly, of.Most)
	if err != nil {
		return nil, storeError(s.path, "read a trend", err)
	}
	defer rows.Close()
	points := []TrendPoint{}
	for rows.Next() {
		var p TrendPoint
		var started int64
		if err := rows.Scan(&p.Run, &started, &p.Quick, &p.Partial, &p.Arm, &p.Cell, &p.Value, &p.Lost); err != nil {
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
