package web

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"rpclab/internal/experiment"
	"rpclab/internal/lab"
	"rpclab/internal/result"
)

// listed is one line of the list of runs.
type listed struct {
	ID         string        `json:"id"`
	Experiment string        `json:"experiment"`
	Started    time.Time     `json:"started"`
	Status     result.Status `json:"status"`
	Trials     int           `json:"trials"`
	Planned    int           `json:"planned"`
	Quick      bool          `json:"quick"`
	Arms       []string      `json:"arms"`
}

// errNoStore is why there is no list.
var errNoStore = problem{http.StatusNotFound, "Nothing is kept here: this page shows one run, which goes on without a store."}

// mostListed is how many runs one answer has.
const mostListed = 1000

// runs lists those that are kept, newest first: all whose id, experiment, status and arms
// together have every word of search.
func (s *Server) runs(r *http.Request) (any, error) {
	if s.Store == nil {
		return nil, errNoStore
	}
	limit, errLimit := whole(r, "limit", 100, mostListed)
	offset, errOffset := whole(r, "offset", 0, 1<<30)
	if err := errors.Join(errLimit, errOffset); err != nil {
		return nil, problem{http.StatusBadRequest, err.Error()}
	}
	rows, err := s.Store.List(r.Context())
	if err != nil {
		return nil, err
	}
	words := strings.Fields(strings.ToLower(r.URL.Query().Get("search")))
	found := []listed{}
	total := 0
	for _, row := range rows {
		if !has(row, words) {
			continue
		}
		if total++; total > offset && len(found) < limit {
			found = append(found, listed{row.ID, row.Experiment, row.Started, row.Status, row.Trials, row.Planned, row.Quick, row.Arms})
		}
	}
	return struct {
		Runs  []listed `json:"runs"`
		Total int      `json:"total"`
	}{found, total}, nil
}

func has(row result.Row, words []string) bool {
	text := strings.ToLower(strings.Join(append([]string{row.ID, row.Experiment, string(row.Status)}, row.Arms...), " "))
	if row.Quick {
		text += " quick"
	}
	return !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(text, word) })
}

// whole is a number of the query, from 0 to most.
func whole(r *http.Request, name string, otherwise, most int) (int, error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return otherwise, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > most {
		return 0, fmt.Errorf("%s=%s: it is a whole number from 0 to %d", name, text, most)
	}
	return n, nil
}

// run is the whole result of one.
func (s *Server) run(r *http.Request) (any, error) {
	return s.document(r, r.PathValue("id"))
}

// document reads a run; one that is not over, or whose process died, comes with what its
// trials so far say.
func (s *Server) document(r *http.Request, id string) (result.Document, error) {
	if s.Store == nil {
		return result.Document{}, errNoStore
	}
	d, complete, err := s.Store.Get(r.Context(), id)
	if err != nil || complete {
		return d, err
	}
	return lab.Assemble(d), nil
}

// trend follows one figure over the runs of an experiment.
func (s *Server) trend(r *http.Request) (any, error) {
	if s.Store == nil {
		return nil, errNoStore
	}
	query := r.URL.Query()
	metric := query.Get("metric")
	if !slices.Contains(result.Figures(), metric) {
		return nil, problem{http.StatusBadRequest, fmt.Sprintf("metric=%s: there are %s.", metric, strings.Join(result.Figures(), ", "))}
	}
	points, err := s.Store.Trend(r.Context(), query.Get("experiment"), metric)
	if err != nil {
		return nil, err
	}
	return struct {
		Experiment string         `json:"experiment"`
		Metric     string         `json:"metric"`
		Points     []result.Point `json:"points"`
	}{query.Get("experiment"), metric, points}, nil
}

// compare sets every further run against the first.
func (s *Server) compare(r *http.Request) (any, error) {
	ids := r.URL.Query()["run"]
	if len(ids) < 2 || len(ids) > mostCompared {
		return nil, problem{http.StatusBadRequest, fmt.Sprintf("Compare two runs or more, %d at the most, as run=A&run=B: what B shows against A.", mostCompared)}
	}
	first, err := s.document(r, ids[0])
	if err != nil {
		return nil, err
	}
	all := []result.Comparison{}
	for _, id := range ids[1:] {
		other, err := s.document(r, id)
		if err != nil {
			return nil, err
		}
		all = append(all, lab.Compare(first, other, lab.Across{}).Filled())
	}
	return struct {
		Comparisons []result.Comparison `json:"comparisons"`
	}{all}, nil
}

const mostCompared = 8

// offered is an experiment that can be started.
type offered struct {
	Name     string   `json:"name"`
	Question string   `json:"question"`
	Arms     []string `json:"arms"`
	Rounds   int      `json:"rounds"`
}

func (s *Server) experiments(*http.Request) (any, error) {
	all := []offered{}
	if s.Conduct != nil {
		for _, e := range s.Experiments {
			read, err := experiment.Read(e.File, e.Doc, lab.Vocabulary())
			if err != nil {
				return nil, err
			}
			o := offered{Name: e.Name, Question: read.Question, Rounds: read.Rounds}
			for _, arm := range read.Arms {
				o.Arms = append(o.Arms, arm.Name)
			}
			all = append(all, o)
		}
	}
	return struct {
		Experiments []offered `json:"experiments"`
		MostRounds  int       `json:"most_rounds"`
	}{all, mostRounds}, nil
}
