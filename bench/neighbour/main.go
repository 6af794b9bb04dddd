// Command neighbour runs `rpclab run channels --quick` while another program uses half of one CPU, and
// quiet runs between them. It counts the decisions and the warnings of both, and checks what rpclab promises:
// docs/findings/neighbour.md.
package main

import (
	"flag"
	"fmt"
	"log"
	"os"
	"slices"
	"strings"
	"time"

	"rpclab/bench/runs"
	"rpclab/internal/measure"
	"rpclab/internal/result"
	"rpclab/internal/verdict"
)

func main() {
	log.SetFlags(log.Ltime)
	count := flag.Int("runs", 5, "number of runs with the neighbour, and of quiet runs")
	out := flag.String("o", "docs/findings/neighbour.md", "the page to write")
	flag.Parse()
	if err := bench(*count, *out); err != nil {
		log.Fatalf("neighbour: %v", err)
	}
}

func bench(count int, out string) error {
	if count < 1 {
		return fmt.Errorf("-runs %d: use 1 or more, because a page of no runs says nothing", count)
	}
	rpclab, err := runs.Build()
	if err != nil {
		return err
	}
	defer rpclab.Remove()
	began := time.Now()
	quiet, busy := newTally(), newTally()
	for seed := 1; seed <= count; seed++ {
		if err := quiet.run(rpclab, seed); err != nil {
			return err
		}
		stop := useHalfACPU()
		err := busy.run(rpclab, seed)
		busy.neighbour = append(busy.neighbour, stop())
		if err != nil {
			return err
		}
		log.Printf("%d of %d", seed, count)
	}
	return os.WriteFile(out, []byte(markdown(quiet, busy, began)), 0o644)
}

// tick is how often the neighbour computes.
const tick = 10 * time.Millisecond

// useHalfACPU computes in every tick until this process has used half as much CPU time as time has passed, and
// catches up on what other programs kept it from. stop ends it and returns the share of one CPU that it used.
func useHalfACPU() (stop func() float64) {
	cpu := func() time.Duration {
		used, err := measure.CPU(os.Getpid())
		if err != nil {
			log.Fatalf("neighbour: %v", err)
		}
		return used
	}
	done, stopped := make(chan struct{}), make(chan float64)
	began, before := time.Now(), cpu()
	go func() {
		for ticker := time.NewTicker(tick); ; {
			select {
			case <-done:
				ticker.Stop()
				stopped <- float64(cpu()-before) / float64(time.Since(began))
				return
			case <-ticker.C:
				for end := time.Now().Add(tick); owes(time.Since(began), cpu()-before) && time.Now().Before(end); { // the work
				}
			}
		}
	}()
	return func() float64 { close(done); return <-stopped }
}

// owes says whether a program that uses half of a CPU has used less than that.
func owes(elapsed, used time.Duration) bool { return used < elapsed/2 }

// tally counts runs of channels on the same kind of machine.
type tally struct {
	count    int
	warned   int // runs that warn of other programs
	machine  result.Machine
	seconds  []float64
	others   []float64 // share of the CPU time that other programs used, in each trial
	names    []string  // of outcomes, in the order of the result
	outcomes map[string]*outcome
	// neighbour is the share of one CPU that the neighbour used in each run.
	neighbour []float64
}

// outcome counts the decisions on one headline metric of one arm.
type outcome struct {
	control   bool // of an arm with itself
	decisions map[string]int
	low, high []float64 // of the intervals of the ratio
}

func newTally() *tally { return &tally{outcomes: map[string]*outcome{}} }

func (r *tally) run(rpclab *runs.Program, seed int) error {
	document, err := rpclab.Run("channels", seed, "--quick")
	if err == nil {
		r.add(document)
	}
	return err
}

func (r *tally) add(d result.Document) {
	r.count++
	r.machine = d.Machine
	if d.Finished != nil {
		r.seconds = append(r.seconds, d.Finished.Sub(d.Started).Seconds())
	}
	if slices.ContainsFunc(d.MachineWarnings, func(w result.MachineWarning) bool { return w.Kind == result.MachineBusy }) {
		r.warned++
	}
	for _, v := range d.Verdicts {
		if v.Secondary || v.Kind == result.OfConfound {
			continue
		}
		name := v.A + " | " + v.Metric
		o := r.outcomes[name]
		if o == nil {
			o = &outcome{control: v.Kind == result.OfControl, decisions: map[string]int{}}
			r.outcomes[name], r.names = o, append(r.names, name)
		}
		o.decisions[v.Decision]++
		if v.CI[0] > 0 {
			o.low, o.high = append(o.low, v.CI[0]), append(o.high, v.CI[1])
		}
	}
	for _, arm := range d.Arms {
		for _, t := range arm.Trials {
			if t.Machine != nil && t.Machine.Others != nil {
				r.others = append(r.others, *t.Machine.Others)
			}
		}
	}
}

func (r *tally) section(title string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "## %s\n\n%d runs of %.0f s each (median). Other programs used %.0f %% of the CPU time in the median trial; %d of the runs warn of it.\n\n"+
		"| arm | metric | shorter | longer | equivalent | undecided | interval of the ratio, median run |\n|---|---|--:|--:|--:|--:|--:|\n",
		title, r.count, verdict.Median(r.seconds), 100*verdict.Median(r.others), r.warned)
	for _, name := range r.names {
		o, interval := r.outcomes[name], "–"
		if len(o.low) > 0 {
			interval = fmt.Sprintf("%.3f–%.3f", verdict.Median(o.low), verdict.Median(o.high))
		}
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %d | %s |\n", name, o.decisions["better"], o.decisions["worse"], o.decisions["equivalent"], o.decisions["undecided"], interval)
	}
	return b.String()
}

func markdown(quiet, busy *tally, began time.Time) string {
	return fmt.Sprintf("# Does a busy neighbour change what the quick run of channels decides?\n\n%s\n\n%s "+
		"Quiet runs and runs with the neighbour take turns. The neighbour computes in every 10 ms until it has used half of the CPU time of one CPU; "+
		"in the median run it used %.0f %%.\n\n%s\n%s\n%s",
		answer(quiet, busy), runs.MadeBy(fmt.Sprintf("go run ./bench/neighbour -runs %d", busy.count), began, quiet.machine),
		100*verdict.Median(busy.neighbour), goalsTable(quiet, busy), quiet.section("Quiet"), busy.section("With a neighbour that uses half of one CPU"))
}
