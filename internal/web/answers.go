package web

import (
	"errors"
	"sync"

	"rpclab/internal/report"
	"rpclab/internal/result"
)

// answers keeps the answers of finished runs, which do not change, because their documents have megabytes.
type answers struct {
	mu    sync.Mutex
	known map[string]answer
}

type answer struct{ question, answer string }

// of returns the answer of a run; read reads its document. A document that cannot be read has its error as the answer.
func (a *answers) of(id string, read func() (result.Document, error)) (answer, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if found, ok := a.known[id]; ok {
		return found, nil
	}
	d, err := read()
	found := answer{d.Question, report.Answer(d)}
	switch {
	case errors.Is(err, result.ErrUnreadable), errors.Is(err, result.ErrNewer), errors.Is(err, result.ErrSchema):
		found = answer{answer: err.Error()}
	case err != nil:
		return found, err
	}
	a.known[id] = found
	return found, nil
}

// keep forgets the answers of other runs.
func (a *answers) keep(runs []result.LastRun) {
	a.mu.Lock()
	defer a.mu.Unlock()
	kept := map[string]answer{}
	for _, run := range runs {
		if found, ok := a.known[run.ID]; ok {
			kept[run.ID] = found
		}
	}
	a.known = kept
}
