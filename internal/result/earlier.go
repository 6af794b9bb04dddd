package result

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"
)

// Earlier is what the plan of a run uses of an earlier run of the same experiment. It is stored apart from
// the document, whose megabytes a plan should not read.
type Earlier struct {
	ID      string  `json:"-"`
	Quick   bool    `json:"-"`
	Design  string  `json:"design"`
	Cluster string  `json:"cluster"`
	CPUs    int     `json:"cpus"`
	Model   string  `json:"model"` // of the CPU
	Rounds  int     `json:"rounds"`
	Trials  int     `json:"trials"`
	TookMS  float64 `json:"took_ms"` // from the start of the run
	// Loads are the times of its loads; empty: not known. RestMS is the part of TookMS without a load, in which Starts
	// arms started, rehearsed, paused and ended.
	Loads  []LoadTime `json:"loads"`
	RestMS float64    `json:"rest_ms"`
	Starts int        `json:"starts"`
	// Memory is the most that callers, servers and proxies used at a time, in bytes; nil: not known.
	Memory *uint64 `json:"memory_bytes"`
	// Noise is that of the headline verdicts; empty: not known.
	Noise []Noise `json:"noise"`
	// Gated means that the run had gates on its ratio to an earlier run. Plans do not use it; [Store.LastGood] does.
	Gated bool `json:"gated"`
}

// Noise is how exactly a comparison of two arms knew the ratio of one metric.
type Noise struct {
	Metric  string  `json:"metric"`
	A       string  `json:"a"`
	B       string  `json:"b"`
	Error   float64 `json:"error"` // as in [Power], with Freedom and Raised
	Freedom float64 `json:"freedom"`
	Raised  float64 `json:"raised,omitempty"`
	// Rounds is the number of rounds that it is of. A cell of arms in turns may end before others; 0: those of the run.
	Rounds int `json:"rounds,omitempty"`
}

// EarlierOf returns what a plan uses of a finished run.
func EarlierOf(d Document) Earlier {
	e := Earlier{
		ID: d.ID, Quick: d.Quick, Design: cmp.Or(d.Design, "isolated"), Cluster: d.Cluster, CPUs: d.Machine.CPUs, Model: d.Machine.Model,
		Rounds: d.Rounds, TookMS: Milliseconds(d.took()), Loads: LoadTimes(d), Memory: memoryOf(d),
		Gated: d.Gates != nil && d.Gates.Against != "baseline",
	}
	loads := 0.0
	for _, a := range d.Arms {
		e.Trials += len(a.Trials)
		groups := map[int]bool{}
		for _, t := range a.Trials {
			groups[t.Group] = true
			loads += t.loadMS()
		}
		e.Starts += len(groups)
	}
	switch e.Design {
	case "isolated":
		e.Starts = e.Trials
	case "side-by-side":
		loads /= 2
	}
	e.RestMS = max(0, e.TookMS-loads)
	arms := d.ArmsByKey()
	for _, v := range d.Verdicts {
		if v.Power != nil && !v.Unfit && v.Kind.AnswersQuestion() {
			rounds := RoundsOf(arms[ArmKey{Name: v.A, Cell: v.Cell.Key()}].Trials)
			e.Noise = append(e.Noise, Noise{v.Metric, v.A, v.B, v.Power.Error, v.Power.Freedom, v.Power.Raised, rounds})
		}
	}
	return e
}

// took returns how long the run took, with the starts before its first trial.
func (d Document) took() time.Duration {
	if d.Finished == nil || d.Started.IsZero() {
		return d.Lasted()
	}
	return d.Finished.Sub(d.Started)
}

// Lasted returns how long the trials of the run took.
func (d Document) Lasted() time.Duration {
	var first, last time.Time
	for _, a := range d.Arms {
		for _, t := range a.Trials {
			if first.IsZero() || t.Started.Before(first) {
				first = t.Started
			}
			if end := t.Started.Add(time.Duration(t.ElapsedMS * float64(time.Millisecond))); end.After(last) {
				last = end
			}
		}
	}
	if d.Finished != nil && d.Finished.After(last) {
		last = *d.Finished
	}
	return last.Sub(first)
}

// memoryOf returns the most memory that a run used at a time; nil: not known. Arms that take turns are up at
// the same time.
func memoryOf(d Document) *uint64 {
	var most uint64
	byCell := map[string]uint64{}
	for _, a := range d.Arms {
		var ofArm uint64
		for _, t := range a.Trials {
			r := t.Resources
			used := r.Client.RSS + r.Proxy.RSS + r.Gateway.RSS + r.Control.RSS
			for _, s := range t.Servers {
				used += s.RSS
			}
			ofArm = max(ofArm, used)
		}
		byCell[a.Cell.Key()] += ofArm
		most = max(most, ofArm)
		if d.Design != "" && d.Design != "isolated" {
			most = max(most, byCell[a.Cell.Key()])
		}
	}
	if most == 0 {
		return nil
	}
	return &most
}

// saveEarlier stores what plans use of a finished run.
func saveEarlier(ctx context.Context, tx *sql.Tx, d Document) error {
	text, err := json.Marshal(EarlierOf(d))
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, "INSERT OR REPLACE INTO earlier (run, summary) VALUES (?, ?)", d.ID, string(text))
	return err
}

// Earlier returns the complete runs of an experiment, newest first. It reads no documents. Of runs that an
// older rpclab stored, only ID and Quick are known, and Trials is 0.
func (s *Store) Earlier(ctx context.Context, experiment string) (all []Earlier, err error) {
	rows, err := s.db.QueryContext(ctx, `SELECT r.id, r.quick, e.summary FROM runs r LEFT JOIN earlier e ON e.run = r.id
		WHERE r.experiment = ? AND r.partial = 0 ORDER BY r.started DESC, r.id DESC`, experiment)
	if err != nil {
		return nil, storeError(s.path, "read earlier runs", err)
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		var quick bool
		var summary sql.NullString
		if err := rows.Scan(&id, &quick, &summary); err != nil {
			return nil, storeError(s.path, "read earlier runs", err)
		}
		var e Earlier
		if summary.Valid {
			if err := json.Unmarshal([]byte(summary.String), &e); err != nil {
				return nil, fmt.Errorf("the summary of run %s: %w: %w", id, ErrUnreadable, err)
			}
		}
		e.ID, e.Quick = id, quick
		all = append(all, e)
	}
	if err := rows.Err(); err != nil {
		return nil, storeError(s.path, "read earlier runs", err)
	}
	return all, nil
}
