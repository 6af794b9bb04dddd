package result

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// finishedRun is a complete run.
type finishedRun struct {
	id     string
	series series
	failed bool // and nobody accepted it
	chosen bool // it passed its gates, or the user accepted it
}

// series are the runs that gates may compare with each other.
type series struct {
	experiment, cluster string
	quick               bool
}

// LastGood returns the ID of the run with which gates compare the next run, whose header is a document without
// measurements. It is empty if there is none.
//
// It is the newest complete run that passed its gates or that the user accepted. A newer run without gates takes its place
// if it did not fail and has the same arms with the same settings. While no run has passed gates, it is the newest run that
// did not fail and has the same settings, or else the newest that has only arms of the next run.
func (s *Store) LastGood(ctx context.Context, next Document) (string, error) {
	header, err := encodeHeader(next)
	if err != nil {
		return "", err
	}
	all, err := s.finishedRuns(ctx, next.Experiment)
	if err != nil {
		return "", err
	}
	of := series{next.Experiment, next.Cluster, next.Quick}
	return s.lastGood(ctx, slices.DeleteFunc(all, func(r finishedRun) bool { return r.series != of }), setupOf(header))
}

// NeededByGates returns the IDs of the runs with which gates compare the next run of each series that has gates, if its
// settings are those of the run before or others. Without such a run the next one would be compared with nothing, and pass.
func (s *Store) NeededByGates(ctx context.Context) (map[string]bool, error) {
	all, err := s.finishedRuns(ctx, "")
	if err != nil {
		return nil, err
	}
	bySeries := map[series][]finishedRun{}
	for _, r := range all {
		bySeries[r.series] = append(bySeries[r.series], r)
	}
	needed := map[string]bool{}
	for _, runs := range bySeries {
		last := slices.IndexFunc(runs, func(r finishedRun) bool { return r.chosen || r.failed })
		if last < 0 {
			continue // without gates
		}
		if i := slices.IndexFunc(runs, func(r finishedRun) bool { return r.chosen }); i >= 0 {
			needed[runs[i].id] = true
		}
		next, err := s.setup(ctx, runs[last].id)
		if err != nil {
			return nil, err
		}
		good, err := s.lastGood(ctx, runs, next)
		if err != nil {
			return nil, err
		}
		if good != "" {
			needed[good] = true
		}
	}
	return needed, nil
}

// lastGood is [Store.LastGood] of one series, newest first.
func (s *Store) lastGood(ctx context.Context, runs []finishedRun, next setup) (string, error) {
	var similar string
	for _, r := range runs {
		if r.failed {
			continue
		}
		if r.chosen {
			return r.id, nil
		}
		had, err := s.setup(ctx, r.id)
		if err != nil {
			return "", err
		}
		if maps.Equal(had, next) {
			return r.id, nil
		}
		if similar == "" && had.within(next) {
			similar = r.id
		}
	}
	return similar, nil
}

// setup are the arms of a run, with their settings as JSON. Of events, headers have those of --set; nil: not known.
type setup map[ArmKey]string

func (s *Store) setup(ctx context.Context, run string) (setup, error) {
	var header string
	if err := s.db.QueryRowContext(ctx, "SELECT header FROM runs WHERE id = ?", run).Scan(&header); err != nil {
		return nil, storeError(s.path, "read the settings of run "+run, err)
	}
	return setupOf(header), nil
}

func setupOf(header string) setup {
	var d struct {
		Design  string   `json:"design"`
		Changed []string `json:"changed"`
		Arms    []struct {
			Name    string `json:"name"`
			Cell    Cell   `json:"cell"`
			Config  any    `json:"config"`
			Service any    `json:"service"`
		} `json:"arms"`
	}
	if err := json.Unmarshal([]byte(header), &d); err != nil {
		return nil
	}
	events := slices.DeleteFunc(d.Changed, func(assignment string) bool { return !strings.HasPrefix(assignment, "events=") })
	all := setup{}
	for _, arm := range d.Arms {
		settings, err := json.Marshal([]any{cmp.Or(d.Design, "isolated"), strings.Join(events, " "), arm.Config, arm.Service})
		if err != nil {
			return nil
		}
		all[ArmKey{Name: arm.Name, Cell: arm.Cell.Key()}] = string(settings)
	}
	return all
}

// within reports whether the next run has all arms of a run.
func (had setup) within(next setup) bool {
	for arm := range had {
		if _, has := next[arm]; !has {
			return false
		}
	}
	return had != nil
}

// finishedRuns returns the complete runs of an experiment (empty: of all), newest first, without those that measured no call
// and have no conditions. Of a run that an older rpclab
// stored, the cluster is in the header, and conditions may be those of gates.
func (s *Store) finishedRuns(ctx context.Context, experiment string) (all []finishedRun, err error) {
	rows, err := s.db.QueryContext(ctx, `SELECT r.id, r.experiment, r.quick, r.conditions IS 'failed',
		r.conditions IS 'accepted' OR r.conditions IS 'passed' AND coalesce(json_extract(e.summary, '$.gated'), 1),
		coalesce(json_extract(e.summary, '$.cluster'), iif(json_valid(r.header), json_extract(r.header, '$.cluster'), NULL), '')
		FROM runs r LEFT JOIN earlier e ON e.run = r.id
		WHERE r.partial = 0 AND (?1 = '' OR r.experiment = ?1)
		AND (coalesce(r.conditions, '') <> '' OR EXISTS (SELECT 1 FROM figures f WHERE f.run = r.id AND f.errors IS NOT NULL)) ORDER BY r.started DESC, r.id DESC`, experiment)
	if err != nil {
		return nil, storeError(s.path, "find the last good run", err)
	}
	defer rows.Close()
	for rows.Next() {
		var r finishedRun
		if err := rows.Scan(&r.id, &r.series.experiment, &r.series.quick, &r.failed, &r.chosen, &r.series.cluster); err != nil {
			return nil, storeError(s.path, "find the last good run", err)
		}
		all = append(all, r)
	}
	if err := rows.Err(); err != nil {
		return nil, storeError(s.path, "find the last good run", err)
	}
	return all, nil
}
