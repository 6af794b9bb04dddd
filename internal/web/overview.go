package web

import (
	"net/http"
	"time"

	"rpclab/internal/report"
	"rpclab/internal/report/html"
	"rpclab/internal/result"
)

// maxOverview is how many experiments with runs the overview contains.
const maxOverview = 50

// experimentOverview is an experiment with its newest finished run.
type experimentOverview struct {
	Name     string      `json:"name"`
	Question string      `json:"question"`
	Offered  bool        `json:"offered"`  // the page can start it
	Finished int         `json:"finished"` // number of finished runs
	Last     *lastAnswer `json:"last"`     // nil: no run has finished
}

type lastAnswer struct {
	ID      string        `json:"id"`
	Started time.Time     `json:"started"`
	Status  result.Status `json:"status"`
	Quick   bool          `json:"quick"`
	Answer  string        `json:"answer"`
}

// overview lists the experiments: those with runs first, the last one run first, then the others that the page offers.
func (s *Server) overview(r *http.Request) (any, error) {
	if s.Store == nil {
		return nil, errNoStore
	}
	last, err := s.Store.LastRuns(r.Context(), maxOverview)
	if err != nil {
		return nil, err
	}
	offered, err := s.offers()
	if err != nil {
		return nil, err
	}
	questions := map[string]string{}
	for _, e := range offered {
		questions[e.Name] = e.Question
	}
	all, known := []experimentOverview{}, map[string]bool{}
	for _, run := range last {
		a, err := s.answers.of(run.ID, func() (result.Document, error) { return s.document(r, run.ID) })
		if err != nil {
			return nil, err
		}
		question, can := questions[run.Experiment]
		if !can {
			question = a.question
		}
		known[run.Experiment] = true
		all = append(all, experimentOverview{run.Experiment, question, can, run.Finished, &lastAnswer{run.ID, run.Started, run.Status, run.Quick, a.answer}})
	}
	s.answers.keep(last)
	for _, e := range offered {
		if !known[e.Name] {
			all = append(all, experimentOverview{Name: e.Name, Question: e.Question, Offered: true})
		}
	}
	return struct {
		Experiments []experimentOverview `json:"experiments"`
	}{all}, nil
}

// view returns what the charts of a run draw, with its answer.
func (s *Server) view(r *http.Request) (any, error) {
	d, err := s.document(r, r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	return struct {
		ID         string    `json:"id"`
		Experiment string    `json:"experiment"`
		Question   string    `json:"question"`
		Started    time.Time `json:"started"`
		Answer     string    `json:"answer"`
		View       html.View `json:"view"`
	}{d.ID, d.Experiment, d.Question, d.Started, report.Answer(d), html.ViewOf(d)}, nil
}
