package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"

	"rpclab/internal/experiment"
	"rpclab/internal/lab"
	"rpclab/internal/nearest"
	"rpclab/internal/result"
)

// Bounds of what can be started from a page.
const (
	mostRounds = 30
	mostTrials = 2000
	mostLoad   = 2 * time.Hour // of all trials together
	mostTime   = 4 * time.Hour // until a run is stopped, whatever it does
	mostBody   = 16 << 10      // bytes of a request
)

// wanted is the body of a request to start a run.
type wanted struct {
	Experiment string   `json:"experiment"`
	Arms       []string `json:"arms"`
	Rounds     int      `json:"rounds"` // 0: as the experiment says
	Quick      bool     `json:"quick"`
	Seed       *uint64  `json:"seed"` // nil: drawn
}

// start puts a run into the queue, which takes it at once when it is empty.
func (s *Server) start(r *http.Request) (any, error) {
	if s.Conduct == nil {
		return nil, problem{http.StatusForbidden, "Nothing can be started from this page, which shows one run; `rpclab serve` makes one where it can."}
	}
	plan, said, err := s.planOf(r)
	if err != nil {
		return nil, err
	}
	run := &Run{ID: result.NewID(time.Now()), Plan: plan, Command: said}
	place, err := s.queue.add(run)
	if err != nil {
		return nil, err
	}
	return accepted{struct {
		ID    string `json:"id"`
		Place int    `json:"place"` // in the queue; 0: it begins
	}{run.ID, place}}, nil
}

// planOf reads what is wanted, and refuses what is not offered or beyond the bounds. It is
// what the command line that is said would make.
func (s *Server) planOf(r *http.Request) (plan experiment.Plan, said string, err error) {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return plan, "", problem{http.StatusUnsupportedMediaType, "Send what to start as application/json."}
	}
	var want wanted
	in := json.NewDecoder(http.MaxBytesReader(nil, r.Body, mostBody))
	in.DisallowUnknownFields()
	if err := in.Decode(&want); err != nil {
		return plan, "", problem{http.StatusBadRequest, "What to start cannot be read: " + err.Error() + "."}
	}
	if _, err := in.Token(); !errors.Is(err, io.EOF) {
		return plan, "", problem{http.StatusBadRequest, "What to start is one JSON object; more follows."}
	}
	var names []string
	for _, e := range s.Experiments {
		names = append(names, e.Name)
	}
	i := slices.Index(names, want.Experiment)
	if i < 0 {
		return plan, "", problem{http.StatusBadRequest, fmt.Sprintf("No experiment %q can be started here%s; there are %s. "+
			"Files have to be named when the server is started.", want.Experiment, nearest.Suggest(want.Experiment, names), strings.Join(names, ", "))}
	}
	if want.Rounds < 0 || want.Rounds > mostRounds {
		return plan, "", problem{http.StatusBadRequest, fmt.Sprintf("rounds: from 1 to %d, but got %d.", mostRounds, want.Rounds)}
	}
	o := experiment.Options{Arms: want.Arms, Rounds: want.Rounds, Quick: want.Quick, Seed: rand.Uint64N(1 << 32)}
	if want.Seed != nil {
		o.Seed = *want.Seed
	}
	e := s.Experiments[i]
	if plan, err = experiment.Expand(e.File, e.Doc, o, lab.Vocabulary()); err == nil {
		err = errors.Join(lab.CheckCluster(plan, "local"), bounded(plan))
	}
	if err != nil {
		return plan, "", problem{http.StatusBadRequest, err.Error()}
	}
	return plan, o.Command(e.Said), nil
}

// bounded says whether a plan can be left to a page.
func bounded(plan experiment.Plan) error {
	if n := len(plan.Trials); n > mostTrials {
		return fmt.Errorf("these are %d trials, and %d can be started from a page: take fewer arms or rounds, or `rpclab run`", n, mostTrials)
	}
	var load time.Duration
	for _, t := range plan.Trials {
		switch l := t.Config.Load; {
		case l.Open != nil:
			load += l.Open.Duration
		case l.Closed != nil:
			load += l.Closed.Duration
		case l.Search != nil:
			load += probes * l.Search.Duration
		}
	}
	if load > mostLoad {
		return fmt.Errorf("these are %v of load, and %v can be started from a page: take fewer arms or rounds, or `rpclab run`", load.Round(time.Second), mostLoad)
	}
	return nil
}

// probes is how many of full length a search takes, about.
const probes = 6

// stop ends the run that goes on, or takes one out of the queue.
func (s *Server) stop(r *http.Request) (any, error) {
	id := r.PathValue("id")
	if !s.queue.remove(id) && !s.live.stop(id) {
		return nil, problem{http.StatusNotFound, fmt.Sprintf("Run %s neither goes on nor waits.", id)}
	}
	return accepted{struct {
		ID string `json:"id"`
	}{id}}, nil
}
