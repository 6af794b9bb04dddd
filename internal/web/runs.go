package web

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"rpclab/internal/analysis"
	"rpclab/internal/experiment"
	"rpclab/internal/lab"
	"rpclab/internal/result"
)

// runSummary is one line of the list of runs.
type runSummary struct {
	ID         string        `json:"id"`
	Experiment string        `json:"experiment"`
	Started    time.Time     `json:"started"`
	Status     result.Status `json:"status"`
	Trials     int           `json:"trials"`
	Planned    int           `json:"planned"`
	Quick      bool          `json:"quick"`
	Arms       []string      `json:"arms"`
}

// errNoStore means that the server has no stored runs.
var errNoStore = problem{http.StatusNotFound, "This page shows one run, which is not stored."}

// maxListed is how many runs one response contains.
const maxListed = 1000

// runs lists stored runs, newest first, whose ID, experiment, status or arms contain every word of
// the search.
func (s *Server) runs(r *http.Request) (any, error) {
	if s.Store == nil {
		return nil, errNoStore
	}
	limit, errLimit := intParam(r, "limit", 100, 0, maxListed)
	offset, errOffset := intParam(r, "offset", 0, 0, 1<<30)
	if err := errors.Join(errLimit, errOffset); err != nil {
		return nil, problem{http.StatusBadRequest, err.Error()}
	}
	rows, total, err := s.Store.Find(r.Context(), result.RunFilter{Words: strings.Fields(r.URL.Query().Get("search")), Limit: limit, Offset: offset})
	if err != nil {
		return nil, err
	}
	found := []runSummary{}
	for _, row := range rows {
		found = append(found, runSummary{row.ID, row.Experiment, row.Started, row.Status, row.Trials, row.Planned, row.Quick, row.Arms})
	}
	return struct {
		Runs  []runSummary `json:"runs"`
		Total int          `json:"total"`
	}{found, total}, nil
}

// intParam reads a number from least to most from the query.
func intParam(r *http.Request, name string, otherwise, least, most int) (int, error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return otherwise, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < least || n > most {
		return 0, fmt.Errorf("%s=%s: use a whole number from %d to %d", name, text, least, most)
	}
	return n, nil
}

// run returns the result of one run.
func (s *Server) run(r *http.Request) (any, error) {
	return s.document(r, r.PathValue("id"))
}

// document reads a run. Documents leave the machine without its paths.
func (s *Server) document(r *http.Request, id string) (result.Document, error) {
	d, err := s.stored(r, id)
	return result.WithoutPaths(d), err
}

// stored reads a run as it was stored. It assembles a run that is in progress, or whose process died, from its trials.
func (s *Server) stored(r *http.Request, id string) (result.Document, error) {
	if s.Store == nil {
		return result.Document{}, errNoStore
	}
	d, complete, err := s.Store.Get(r.Context(), id)
	if err == nil && !complete {
		d = analysis.Assemble(d)
	}
	return d, err
}

// compare compares each further run with the first.
func (s *Server) compare(r *http.Request) (any, error) {
	ids := r.URL.Query()["run"]
	if len(ids) < 2 || len(ids) > maxCompared {
		return nil, problem{http.StatusBadRequest, fmt.Sprintf("Give two to %d runs, as run=A&run=B; the others are compared with the first.", maxCompared)}
	}
	first, err := s.stored(r, ids[0])
	if err != nil {
		return nil, err
	}
	all := []result.Comparison{}
	for _, id := range ids[1:] {
		other, err := s.stored(r, id)
		if err != nil {
			return nil, err
		}
		all = append(all, result.WithoutPaths(analysis.Compare(first, other, analysis.CompareOptions{})).WithEmptyLists())
	}
	return struct {
		Comparisons []result.Comparison `json:"comparisons"`
	}{all}, nil
}

const maxCompared = 8

// experimentSummary is an experiment that the page offers.
type experimentSummary struct {
	Name     string   `json:"name"`
	Question string   `json:"question"`
	Arms     []string `json:"arms"`
	Rounds   int      `json:"rounds"`
}

// offers are the experiments that the page can start.
func (s *Server) offers() (all []experimentSummary, err error) {
	if s.Conduct == nil {
		return nil, nil
	}
	for _, e := range s.Experiments {
		read, err := experiment.Read(e.File, e.Doc, lab.Vocabulary())
		if err != nil {
			return nil, err
		}
		o := experimentSummary{Name: e.Name, Question: read.Question, Rounds: read.Rounds}
		for _, arm := range read.Arms {
			o.Arms = append(o.Arms, arm.Name)
		}
		all = append(all, o)
	}
	return all, nil
}

func (s *Server) experiments(*http.Request) (any, error) {
	all, err := s.offers()
	if err != nil {
		return nil, err
	}
	if all == nil {
		all = []experimentSummary{}
	}
	return struct {
		Experiments []experimentSummary `json:"experiments"`
		MostRounds  int                 `json:"most_rounds"`
	}{all, maxRounds}, nil
}

// accept lets gates compare with a run that failed.
func (s *Server) accept(r *http.Request) (any, error) {
	if s.Store == nil {
		return nil, errNoStore
	}
	id, err := s.Store.Accept(r.Context(), r.PathValue("id"))
	return struct {
		ID string `json:"id"`
	}{id}, err
}

// acceptByForm does so for the form of a report, and shows the report again.
func (s *Server) acceptByForm(w http.ResponseWriter, r *http.Request) {
	if _, err := s.accept(r); err != nil {
		p := problemOf(err)
		s.pages.write(w, s.pages.broken, p.status, p.detail)
		return
	}
	http.Redirect(w, r, "/runs/"+url.PathEscape(r.PathValue("id"))+"/report", http.StatusSeeOther)
}
