package gateway

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"rpclab/internal/suggest"
)

// query reads and checks a request's parameters; err is the first error.
type query struct {
	values url.Values
	known  map[string]bool
	err    error
}

func newQuery(r *http.Request) *query {
	values, err := url.ParseQuery(r.URL.RawQuery)
	q := &query{values: values, known: map[string]bool{}}
	if err != nil {
		q.fail("the query %q cannot be read: %v", r.URL.RawQuery, err)
	}
	return q
}

func (q *query) fail(format string, args ...any) {
	if q.err == nil {
		q.err = httpError{http.StatusBadRequest, "INVALID_ARGUMENT", fmt.Sprintf(format, args...)}
	}
}

// text returns a parameter and whether it is present.
func (q *query) text(name string) (string, bool) {
	q.known[name] = true
	given := q.values[name]
	if len(given) > 1 {
		q.fail("%s is given %d times", name, len(given))
	}
	return strings.Join(given, ""), len(given) > 0
}

// number returns a parameter from least to most, or the fallback if it is missing.
func (q *query) number(name string, fallback, least, most int) int {
	text, ok := q.text(name)
	if !ok {
		return fallback
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < least || n > most {
		q.fail("%s=%s: must be a number from %d to %d", name, text, least, most)
		return least
	}
	return n
}

// required returns a parameter from least to most that must be present.
func (q *query) required(name string, least, most int) int {
	if !q.values.Has(name) {
		q.fail("%s is missing: it must be a number from %d to %d", name, least, most)
	}
	return q.number(name, least, least, most)
}

// iterations reads the number of calls, which has two published names.
func (q *query) iterations() int {
	if q.values.Has("iterations") && q.values.Has("iteration") {
		q.fail("iterations and iteration are the same parameter: use one of them")
	}
	return q.number("iterations", q.number("iteration", 1, 1, maxIterations), 1, maxIterations)
}

func (q *query) boolean(name string) bool {
	text, ok := q.text(name)
	if !ok {
		return false
	}
	truth, err := strconv.ParseBool(text)
	if err != nil {
		q.fail("%s=%s: must be true or false", name, text)
	}
	return truth
}

// choice returns one of several values, the first if the parameter is missing.
func (q *query) choice(name string, among ...string) string {
	text, ok := q.text(name)
	if !ok {
		return among[0]
	}
	if !slices.Contains(among, text) {
		q.fail("%s=%s: must be one of %s", name, text, strings.Join(among, ", "))
	}
	return text
}

// finish rejects parameters that nobody has read, and returns the first error. Call it last.
func (q *query) finish() error {
	known := slices.Sorted(maps.Keys(q.known))
	for _, name := range slices.Sorted(maps.Keys(q.values)) {
		if !q.known[name] {
			q.fail("unknown parameter %s%s", name, suggest.DidYouMean(name, known))
		}
	}
	return q.err
}
