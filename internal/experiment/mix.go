package experiment

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"rpclab/internal/suggest"
)

// Mix has the shares of the calls of a service, by their names, as the document has them: percentages or weights.
type Mix map[string]string

// String is the mix as --mix has it.
func (m Mix) String() string {
	var shares []string
	for _, name := range slices.Sorted(maps.Keys(m)) {
		shares = append(shares, name+"="+m[name])
	}
	return strings.Join(shares, ",")
}

// wholeShare is the weight of 100 %, and largestWeight the largest weight, as parseShare returns them.
const (
	wholeShare    = 100 * 100
	largestWeight = 100_000 * 100
)

// parseShare returns a share, which can have two decimals, times 100.
func parseShare(text string) (weight uint64, percent bool, err error) {
	number, percent := strings.CutSuffix(strings.TrimSpace(text), "%")
	v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	weight = uint64(math.Round(max(0, min(100*v, largestWeight+1))))
	if err != nil || weight == 0 || weight > largestWeight || math.Abs(100*v-float64(weight)) > 1e-6 {
		return 0, percent, fmt.Errorf("%q is not a share: use a percentage such as 80%%, or a weight from 0.01 to 100000, with two decimals at most", text)
	}
	return weight, percent, nil
}

// check checks a mix of some of the calls of a service. place(name) is the position of the share of a call, place("") that
// of the mix.
func (m Mix) check(service string, calls []string, place func(call string) position, wrong *problems) {
	before := len(wrong.found)
	percentages, sum := 0, uint64(0)
	for _, name := range slices.Sorted(maps.Keys(m)) {
		weight, percent, err := parseShare(m[name])
		switch {
		case !slices.Contains(calls, name):
			wrong.add(place(name), "the service %s has no call %q%s", service, name, suggest.DidYouMean(name, calls))
		case err != nil:
			wrong.add(place(name), "workload.mix, call %s: %v", name, err)
		case percent:
			percentages++
		}
		sum += weight
	}
	switch {
	case len(wrong.found) > before:
	case len(m) < 2:
		wrong.add(place(""), "workload.mix needs at least two calls: for one, set workload to call: NAME")
	case percentages > 0 && percentages < len(m):
		wrong.add(place(""), "workload.mix has percentages and weights: use one of them for all calls")
	case percentages > 0 && sum != wholeShare:
		wrong.add(place(""), "the shares of workload.mix add up to %v %%, not 100 %%", float64(sum)/100)
	}
}
