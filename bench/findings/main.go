// Command findings measures the findings of findings.yaml and draws their pages: docs/findings. It keeps the
// result document of each in docs/findings/data, and measures again only what changed since. It may be
// interrupted at any time: the next start continues.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

// options are the flags.
type options struct {
	list, dir, readme, program, only string
	limit                            time.Duration
	force, draw, plan                bool
}

func main() {
	log.SetFlags(log.Ltime)
	var o options
	flag.StringVar(&o.list, "list", "bench/findings/findings.yaml", "the `file` that lists the findings")
	flag.StringVar(&o.dir, "dir", "docs/findings", "the `directory` of the pages; their documents are in its directory data")
	flag.StringVar(&o.readme, "readme", "README.md", "the `file` whose table of findings gets the answers")
	flag.StringVar(&o.program, "program", "", "an rpclab that is built already (default: build one)")
	flag.StringVar(&o.only, "only", "", "measure or draw only these findings, comma-separated `names`")
	flag.DurationVar(&o.limit, "for", 0, "`time` limit of each run, such as 2m, in place of that of the list")
	flag.BoolVar(&o.force, "force", false, "accept runs that guards marked, also kept ones of earlier starts")
	flag.BoolVar(&o.draw, "draw", false, "run nothing: draw the pages of the stored documents")
	flag.BoolVar(&o.plan, "plan", false, "run nothing: print what would be measured, and how long it takes")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := findings(ctx, o)
	switch {
	case errors.Is(err, context.Canceled):
		log.Print("interrupted: finished findings are stored, and the next start continues")
		os.Exit(130)
	case err != nil:
		log.Fatalf("findings: %v", err)
	}
}

func findings(ctx context.Context, o options) error {
	all, err := readList(o.list)
	if err != nil {
		return err
	}
	chosen, err := all.only(o.only)
	if err != nil {
		return err
	}
	s := store{dir: o.dir, readme: o.readme}
	if o.draw {
		return s.draw(all, chosen)
	}
	for i := range chosen {
		chosen[i].limit(o.limit)
	}
	slices.SortStableFunc(chosen, func(a, b finding) int { return cmp.Compare(a.Takes.Duration, b.Takes.Duration) })
	r := runner{store: s, all: all, program: o.program, force: o.force}
	if r.sources, err = readSources(); err != nil {
		return err
	}
	if err := printPlan(r, chosen); err != nil || o.plan {
		return err
	}
	return r.run(ctx, chosen)
}

// printPlan prints what is current and what is to be measured.
func printPlan(r runner, chosen list) error {
	left, current := time.Duration(0), 0
	for _, f := range chosen {
		is, err := r.isCurrent(f)
		if err != nil {
			return err
		}
		state := "about " + strings.TrimSuffix(f.Takes.String(), "0s")
		if is {
			state, current = "current", current+1
		} else {
			left += f.Takes.Duration
		}
		fmt.Printf("%-14s %-12s rpclab %s\n", f.Name, state, strings.Join(f.command(), " "))
	}
	fmt.Printf("%d of %d are current, the others take about %s\n", current, len(chosen), strings.TrimSuffix(left.String(), "0s"))
	return nil
}
