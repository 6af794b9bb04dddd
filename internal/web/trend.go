package web

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"rpclab/internal/result"
	"rpclab/internal/verdict"
)

const (
	trendRuns    = 200 // runs of a trend, unless the request says how many
	maxTrendRuns = 1000
	// changeLevel is the probability that a trend without a change shows any.
	changeLevel = 0.05
	// smallestChange is a ratio: smaller changes are not shown, as differences within the margin.
	smallestChange = 1.03
)

// trend returns one metric over the newest runs of an experiment, and where its level changed.
func (s *Server) trend(r *http.Request) (any, error) {
	if s.Store == nil {
		return nil, errNoStore
	}
	query := r.URL.Query()
	metric := query.Get("metric")
	if !slices.Contains(result.Figures(), metric) {
		return nil, problem{http.StatusBadRequest, fmt.Sprintf("metric=%s: use one of %s.", metric, strings.Join(result.Figures(), ", "))}
	}
	most, err := intParam(r, "runs", trendRuns, 1, maxTrendRuns)
	if quick := query.Get("quick"); quick != "" && quick != "yes" && quick != "no" {
		err = errors.Join(err, fmt.Errorf("quick=%s: use yes or no", quick))
	}
	if err != nil {
		return nil, problem{http.StatusBadRequest, err.Error()}
	}
	points, err := s.Store.Trend(r.Context(), result.TrendRuns{Experiment: query.Get("experiment"), Most: most, FullOnly: query.Get("quick") == "no"}, metric)
	if err != nil {
		return nil, err
	}
	return struct {
		Experiment string              `json:"experiment"`
		Metric     string              `json:"metric"`
		Points     []result.TrendPoint `json:"points"`
		Changes    []change            `json:"changes"`
	}{query.Get("experiment"), metric, points, changesIn(points)}, nil
}

// change is a run from which on the level of a metric differs.
type change struct {
	Arm     string    `json:"arm"`
	Cell    string    `json:"cell"`
	Quick   bool      `json:"quick"` // of quick runs; those are compared with each other only
	Last    string    `json:"last"`  // the run before
	Run     string    `json:"run"`
	Started time.Time `json:"started"`
	Before  float64   `json:"before"` // medians of the runs up to the neighbouring changes
	After   float64   `json:"after"`
}

// changesIn returns the changes of every line of a trend, the newest first.
func changesIn(points []result.TrendPoint) []change {
	type line struct {
		arm, cell string
		quick     bool
	}
	lines := map[line][]result.TrendPoint{}
	for _, p := range points {
		of := line{p.Arm, p.Cell, p.Quick}
		lines[of] = append(lines[of], p)
	}
	all := []change{}
	for of, points := range lines {
		var values []float64
		for _, p := range points {
			values = append(values, p.Value)
		}
		found := verdict.ChangePoints(values, changeLevel/float64(len(lines)))
		for i, at := range found {
			from, to := 0, len(points)
			if i > 0 {
				from = found[i-1]
			}
			if i+1 < len(found) {
				to = found[i+1]
			}
			before, after := median(values[from:at]), median(values[at:to])
			if before > 0 && after > 0 && math.Abs(math.Log(after/before)) < math.Log(smallestChange) {
				continue
			}
			all = append(all, change{of.arm, of.cell, of.quick, points[at-1].Run, points[at].Run, points[at].Started, before, after})
		}
	}
	slices.SortFunc(all, func(a, b change) int {
		if order := b.Started.Compare(a.Started); order != 0 {
			return order
		}
		return strings.Compare(a.Arm+a.Cell, b.Arm+b.Cell)
	})
	return all
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}
