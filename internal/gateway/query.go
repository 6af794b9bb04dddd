package gateway

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"rpclab/internal/nearest"
)

// query reads a request's parameters within bounds; the first thing wrong is in err.
type query struct {
	values url.Values
	known  map[string]bool
	err    error
}

func newQuery(r *http.Request) *query {
	values, err := url.ParseQuery(r.URL.RawQuery)
	q := &query{values: values, known: map[string]bool{}}
	if err != nil {
		q.refuse("the query %q cannot be read: %v", r.URL.RawQuery, err)
	}
	return q
}

func (q *query) refuse(format string, args ...any) {
	if q.err == nil {
		q.err = failure{http.StatusBadRequest, "INVALID_ARGUMENT", fmt.Sprintf(format, args...)}
	}
}

// text is a parameter, if it is there.
func (q *query) text(name string) (string, bool) {
	q.known[name] = true
	given := q.values[name]
	if len(given) > 1 {
		q.refuse("%s is given %d times", name, len(given))
	}
	return strings.Join(given, ""), len(given) > 0
}

func (q *query) number(name string, fallback, least, most int) int {
	text, ok := q.text(name)
	if !ok {
		return fallback
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < least || n > most {
		q.refuse("%s=%s: it has to be a number from %d to %d", name, text, least, most)
		return least
	}
	return n
}

func (q *query) required(name string, least, most int) int {
	if !q.values.Has(name) {
		q.refuse("%s is missing: a number from %d to %d", name, least, most)
	}
	return q.number(name, least, least, most)
}

// iterations has two names, and the study used both.
func (q *query) iterations() int {
	if q.values.Has("iterations") && q.values.Has("iteration") {
		q.refuse("iterations and iteration are the same: give one of them")
	}
	return q.number("iterations", q.number("iteration", 1, 1, mostIterations), 1, mostIterations)
}

func (q *query) truth(name string) bool {
	text, ok := q.text(name)
	if !ok {
		return false
	}
	truth, err := strconv.ParseBool(text)
	if err != nil {
		q.refuse("%s=%s: it has to be true or false", name, text)
	}
	return truth
}

func (q *query) word(name string, among ...string) string {
	text, _ := q.text(name)
	if !slices.Contains(among, text) {
		q.refuse("%s=%s: it has to be one of %s", name, text, strings.Join(among, ", "))
	}
	return text
}

// unknown refuses parameters that nobody asked for, once all others were.
func (q *query) unknown() error {
	known := slices.Sorted(maps.Keys(q.known))
	for _, name := range slices.Sorted(maps.Keys(q.values)) {
		if !q.known[name] {
			q.refuse("there is no parameter %s%s", name, nearest.Suggest(name, known))
		}
	}
	return q.err
}
