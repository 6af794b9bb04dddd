package web

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"rpclab/internal/experiment"
	"rpclab/internal/lab"
	"rpclab/internal/result"
	"rpclab/internal/suggest"
)

// Limits of runs that a page starts.
const (
	maxRounds = 30
	maxTrials = 2000
	maxLoad   = 2 * time.Hour // sum of all trials
)

// start queues a run, which starts at once if the queue is empty.
func (s *Server) start(r *http.Request) (any, error) {
	if s.Conduct == nil {
		return nil, problem{http.StatusForbidden, "This page shows one run and cannot start others; use `rpclab serve`."}
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
		Place int    `json:"place"` // position in the queue; 0: the run has started
	}{run.ID, place}}, nil
}

// planOf reads the request and checks it against the offered experiments and the limits. It also
// returns the command line that gives the same plan.
func (s *Server) planOf(r *http.Request) (plan lab.Plan, said string, err error) {
	var want startRequest
	if err := readBody(r, &want); err != nil {
		return plan, "", err
	}
	service, err := s.service(want)
	if err != nil {
		return plan, "", problem{http.StatusBadRequest, err.Error()}
	}
	e, err := s.offered(want, service)
	if err != nil {
		return plan, "", problem{http.StatusBadRequest, err.Error()}
	}
	if want.Rounds < 0 || want.Rounds > maxRounds {
		return plan, "", problem{http.StatusBadRequest, fmt.Sprintf("rounds: use 1 to %d, not %d.", maxRounds, want.Rounds)}
	}
	o := experiment.Options{Arms: want.Arms, Rounds: want.Rounds, Quick: want.Quick, Seed: rand.Uint64N(1 << 32), Service: service, Call: want.Call, Mix: want.Mix, Flow: want.Flow}
	if want.Seed != nil {
		o.Seed = *want.Seed
	}
	if err = o.CheckCalls(); err == nil {
		plan, err = planUntilDecided(e, &o)
	}
	if err != nil {
		return plan, "", problem{http.StatusBadRequest, err.Error()}
	}
	if e.Name == OneLoad {
		return plan, loadCommand(want, service.File, o.Seed), nil
	}
	return plan, o.Command(e.RunName), nil
}

// planUntilDecided returns the plan of an experiment. As with `rpclab run`, a run ends when its verdicts are decided,
// unless the number of rounds is fixed or too small for a verdict. A run whose most rounds exceed the limits
// of a page has the rounds of its experiment.
func planUntilDecided(e Experiment, o *experiment.Options) (plan lab.Plan, err error) {
	if o.Rounds > 0 || o.Quick || e.Name == OneLoad {
		return checkedPlan(e, *o)
	}
	read, err := experiment.Read(e.File, e.Doc, lab.Vocabulary())
	if err != nil {
		return plan, err
	}
	if read.Rounds >= experiment.FewestRounds(read.Design) {
		o.UntilDecided = true
		if 2*read.Rounds > maxRounds {
			o.MaxRounds = max(read.Rounds, maxRounds)
		}
		if plan, err = checkedPlan(e, *o); err == nil {
			return plan, nil
		}
		o.UntilDecided, o.MaxRounds, o.Rounds = false, 0, read.Rounds
	}
	return checkedPlan(e, *o)
}

// checkedPlan returns the plan of an experiment if this machine and the limits of a page permit it.
func checkedPlan(e Experiment, o experiment.Options) (plan lab.Plan, err error) {
	expanded, err := experiment.Expand(e.File, e.Doc, o, lab.Vocabulary())
	if err != nil {
		return plan, err
	}
	if plan, err = lab.Resolve(expanded); err != nil {
		return plan, err
	}
	if plan.DropsPackets() { // it would need a network of its own, without the page
		return plan, errors.New("an experiment that drops packets (event cut, how: blackhole) has a network of its own, so a page cannot start it: use rpclab run")
	}
	return plan, errors.Join(plan.CheckCluster("local"), checkLimits(plan.Plan))
}

// offered returns the experiment that a request names.
func (s *Server) offered(want startRequest, service *experiment.ServiceDocument) (Experiment, error) {
	switch {
	case want.Experiment == OneLoad && want.Quick:
		return Experiment{}, errors.New("quick: a load is not scaled down: leave it out, or use a lower rate or duration_s")
	case want.Experiment == OneLoad:
		return loadOf(want, service)
	case want.Rate != 0 || want.DurationS != 0:
		return Experiment{}, errors.New("rate and duration_s are those of a load: leave them out, or set experiment to load")
	}
	names := []string{OneLoad}
	for _, e := range s.Experiments {
		if e.Name == want.Experiment {
			return e, nil
		}
		names = append(names, e.Name)
	}
	return Experiment{}, fmt.Errorf("this page offers no experiment %q%s; add files with --experiment when you start the server", want.Experiment, suggest.DidYouMean(want.Experiment, names))
}

// checkLimits returns an error if a plan is too large for a page.
func checkLimits(plan experiment.Plan) error {
	if n := len(plan.Trials); n > maxTrials {
		return fmt.Errorf("the plan has %d trials; a page can start at most %d: use fewer arms or rounds, or `rpclab run`", n, maxTrials)
	}
	var load time.Duration
	for _, t := range plan.Trials {
		switch l := t.Config.Load; {
		case l.Open != nil:
			load += l.Open.Duration
		case l.Closed != nil:
			load += l.Closed.Duration
		case l.Search != nil:
			load += searchProbes * l.Search.Duration
		}
	}
	if load > maxLoad {
		return fmt.Errorf("the plan has %v of load; a page can start at most %v: use fewer arms or rounds, or `rpclab run`", load.Round(time.Second), maxLoad)
	}
	return nil
}

// searchProbes is about how many probes of full length a search makes.
const searchProbes = 12

// stop stops the run in progress, or removes a run from the queue.
func (s *Server) stop(r *http.Request) (any, error) {
	id := r.PathValue("id")
	if !s.queue.remove(id) && !s.live.stop(id) {
		return nil, problem{http.StatusNotFound, fmt.Sprintf("Run %s is neither in progress nor queued.", id)}
	}
	return accepted{struct {
		ID string `json:"id"`
	}{id}}, nil
}
