package experiment

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const swept = `experiment: x
question: Which?
defaults:
  workload: {greet: {delay: 1ms}}
  caller: {channel: shared}
  route: clusterip
  load: {burst: 5}
arms:
  a: {}
  b: {route: headless, caller: {channel: {pool: 2}}}
  again: {control: a}
sweep: {load.burst: [1, 2]}
rounds: 2
`

// The outcome has the cells, and each arm's route, channel and load in the first cell.
func TestSetOverridesArmsAndSweeps(t *testing.T) {
	type outcome struct {
		Cells []string
		Arms  map[string]string
	}
	for name, tc := range map[string]struct {
		set  []string
		want outcome
	}{
		"nothing": {nil, outcome{[]string{"load.burst=1", "load.burst=2"}, map[string]string{
			"a": "clusterip, shared, burst of 1", "b": "headless, pool of 2, burst of 1", "again": "clusterip, shared, burst of 1"}}},
		"a field of the configuration overrides arms": {[]string{"route=direct"}, outcome{[]string{"load.burst=1", "load.burst=2"}, map[string]string{
			"a": "direct, shared, burst of 1", "b": "direct, pool of 2, burst of 1", "again": "direct, shared, burst of 1"}}},
		"a swept field removes its axis": {[]string{"load.burst=7"}, outcome{[]string{""}, map[string]string{
			"a": "clusterip, shared, burst of 7", "b": "headless, pool of 2, burst of 7", "again": "clusterip, shared, burst of 7"}}},
		"an alternative to a swept field removes its axis": {[]string{"load.sequence=9"}, outcome{[]string{""}, map[string]string{
			"a": "clusterip, shared, sequence of 9", "b": "headless, pool of 2, sequence of 9", "again": "clusterip, shared, sequence of 9"}}},
		"a mapping as a whole": {[]string{"load={open: {rate: 10, duration: 1s}}"}, outcome{[]string{""}, map[string]string{
			"a": "clusterip, shared, open loop, 10/s for 1s", "b": "headless, pool of 2, open loop, 10/s for 1s", "again": "clusterip, shared, open loop, 10/s for 1s"}}},
		"field by field": {[]string{"load.open.rate=10", "load.open.duration=1s"}, outcome{[]string{""}, map[string]string{
			"a": "clusterip, shared, open loop, 10/s for 1s", "b": "headless, pool of 2, open loop, 10/s for 1s", "again": "clusterip, shared, open loop, 10/s for 1s"}}},
		"a word in place of a mapping": {[]string{"caller.channel=per-call"}, outcome{[]string{"load.burst=1", "load.burst=2"}, map[string]string{
			"a": "clusterip, per-call, burst of 1", "b": "headless, per-call, burst of 1", "again": "clusterip, per-call, burst of 1"}}},
		"a mapping in place of a word": {[]string{"caller.channel.pool=3"}, outcome{[]string{"load.burst=1", "load.burst=2"}, map[string]string{
			"a": "clusterip, pool of 3, burst of 1", "b": "headless, pool of 3, burst of 1", "again": "clusterip, pool of 3, burst of 1"}}},
		"an axis": {[]string{"sweep.load.burst=[3]"}, outcome{[]string{"load.burst=3"}, map[string]string{
			"a": "clusterip, shared, burst of 3", "b": "headless, pool of 2, burst of 3", "again": "clusterip, shared, burst of 3"}}},
		"an axis in place of another": {[]string{"sweep.load.sequence=[3]"}, outcome{[]string{"load.sequence=3"}, map[string]string{
			"a": "clusterip, shared, sequence of 3", "b": "headless, pool of 2, sequence of 3", "again": "clusterip, shared, sequence of 3"}}},
		"the whole sweep": {[]string{"sweep={load.burst: [4]}"}, outcome{[]string{"load.burst=4"}, map[string]string{
			"a": "clusterip, shared, burst of 4", "b": "headless, pool of 2, burst of 4", "again": "clusterip, shared, burst of 4"}}},
		"the last one of equal paths is used": {[]string{"load.burst=7", "sweep.load.burst=[8]", "load.burst=9"}, outcome{[]string{""}, map[string]string{
			"a": "clusterip, shared, burst of 9", "b": "headless, pool of 2, burst of 9", "again": "clusterip, shared, burst of 9"}}},
		"one arm, and its control with it": {[]string{"arms.a.route=direct"}, outcome{[]string{"load.burst=1", "load.burst=2"}, map[string]string{
			"a": "direct, shared, burst of 1", "b": "headless, pool of 2, burst of 1", "again": "direct, shared, burst of 1"}}},
		"one arm after all arms": {[]string{"route=direct", "arms.b.route=clusterip"}, outcome{[]string{"load.burst=1", "load.burst=2"}, map[string]string{
			"a": "direct, shared, burst of 1", "b": "clusterip, pool of 2, burst of 1", "again": "direct, shared, burst of 1"}}},
		"the defaults only": {[]string{"defaults.route=direct"}, outcome{[]string{"load.burst=1", "load.burst=2"}, map[string]string{
			"a": "direct, shared, burst of 1", "b": "headless, pool of 2, burst of 1", "again": "direct, shared, burst of 1"}}},
	} {
		t.Run(name, func(t *testing.T) {
			p := mustExpand(t, swept, Options{Set: tc.set})
			got := outcome{Arms: map[string]string{}}
			for _, cell := range p.Cells {
				got.Cells = append(got.Cells, cellName(cell))
			}
			for _, trial := range p.Trials {
				if cellName(trial.Cell) == got.Cells[0] {
					c := trial.Config
					got.Arms[trial.Arm] = c.Route + ", " + c.Caller.Channel.String() + ", " + c.Load.String()
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestSetChangesFieldsOfTheExperiment(t *testing.T) {
	p := mustExpand(t, swept, Options{Rounds: 3, Set: []string{"rounds=9", "question=Who?", "baseline=b", "events=[{at: 1s, kill: 1}]", "arms.b.describe=by DNS"}})
	if p.Rounds != 3 || p.Question != "Who?" || p.Baseline != "b" || p.Arms[1].Describe != "by DNS" {
		t.Errorf("%d rounds, question %q, baseline %q, b is described as %q; want 3, Who?, b and by DNS", p.Rounds, p.Question, p.Baseline, p.Arms[1].Describe)
	}
	if e := p.Trials[0].Events; len(e) != 1 || e[0].String() != "kill 1" {
		t.Errorf("the events are %v, want kill 1", e)
	}
}

func TestErrorsQuoteTheWrongOption(t *testing.T) {
	for name, tc := range map[string]struct {
		options Options
		want    []string
	}{
		"unknown field":        {Options{Set: []string{"load.brust=3"}}, []string{`--set load.brust=3: unknown field "brust" in load; did you mean "burst"?`}},
		"unknown first field":  {Options{Set: []string{"ruonds=3"}}, []string{`--set ruonds=3: unknown field "ruonds"; did you mean "rounds"?`}},
		"unknown config field": {Options{Set: []string{"lod.burst=3"}}, []string{`--set lod.burst=3: unknown field "lod"; did you mean "load"?`}},
		"unknown arm":          {Options{Set: []string{"arms.agian.route=direct"}}, []string{`--set arms.agian.route=direct: no arm "agian"; did you mean "again"?`}},
		"unknown in an arm":    {Options{Set: []string{"arms.a.rout=direct"}}, []string{`--set arms.a.rout=direct: unknown field "rout" in arm a; did you mean "route"?`}},
		"no equals sign":       {Options{Set: []string{"rounds"}}, []string{"--set rounds: use path=value, such as rounds=5 or load.burst=1000"}},
		"no value":             {Options{Set: []string{"rounds="}}, []string{"--set rounds=: rounds must be a whole number, not empty"}},
		"no YAML":              {Options{Set: []string{"rounds=["}}, []string{"--set rounds=[: not YAML: did not find expected node content"}},
		"wrong value":          {Options{Set: []string{"workload.greet.delay=5"}}, []string{`--set workload.greet.delay=5: "5" has no unit: use a duration such as 500ms or 2s`}},
		"two errors": {Options{Set: []string{"rounds=0", "route=direkt"}}, []string{
			"--set rounds=0: rounds must be 1 to 1000, not 0", `--set route=direkt: no route "direkt"; did you mean "direct"?`}},
		"a field of a scalar":          {Options{Set: []string{"rounds.x=1"}}, []string{"--set rounds.x=1: rounds has no fields: set it as a whole"}},
		"an element of a list":         {Options{Set: []string{"events.0.at=1s"}}, []string{"--set events.0.at=1s: events has no fields: set it as a whole"}},
		"quick itself":                 {Options{Set: []string{"quick.rounds=1"}}, []string{"--set quick.rounds=1: quick cannot be set; set the fields in it"}},
		"an unfinished load":           {Options{Set: []string{"load.open.rate=1"}}, []string{"--set load.open.rate=1: load.open needs duration (time during which calls are due)"}},
		"a control that differs":       {Options{Set: []string{"arms.again.route=direct"}}, []string{"x.yaml:11:20: arm again is a control of a but has different settings: remove them"}},
		"an arm's field that is swept": {Options{Set: []string{"arms.a.load.burst=3"}}, []string{"--set arms.a.load.burst=3: arm a sets a field that sweep load.burst sets for every arm", "--set arms.a.load.burst=3: arm again sets a field that sweep load.burst sets for every arm"}},
		"rounds":                       {Options{Rounds: -1}, []string{"--rounds: rounds must be 1 to 1000, not -1"}},
		"unknown pick":                 {Options{Arms: []string{"a", "agian"}}, []string{`--arms agian: no arm "agian"; did you mean "again"?`}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Expand("x.yaml", []byte(swept), tc.options, vocabulary)
			if diff := cmp.Diff(tc.want, lines(err)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func cellName(cell map[string]any) string {
	name := ""
	for _, path := range slices.Sorted(maps.Keys(cell)) {
		name += path + "=" + fmt.Sprint(cell[path])
	}
	return name
}
