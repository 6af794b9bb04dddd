package testkit

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

// Sims is how many runs a test simulates for each figure; those of the pages are of [PageSims].
var Sims = flag.Int("sims", 100, "simulated runs for each figure; those of the pages are made with 2000")

// PageSims is the number of simulated runs behind the tables of docs/method.
const PageSims = 2000

// TooMany reports whether count of n is more than a probability of at most p explains: a correct simulation
// has so many with a probability of 1 in 10,000.
func TooMany(count, n int, p float64) bool {
	return distuv.Binomial{N: float64(n), P: p}.Survival(float64(count-1)) < 1e-4
}

// Percent returns the share of count in n, in percent.
func Percent(count, n int) float64 { return 100 * float64(count) / float64(n) }

// pages guards the files of pages against tests that run in parallel.
var pages sync.Mutex

// Table compares rows with the table of this name on a page; -update rewrites the table. Figures depend on -sims,
// so they are compared only if there are as many simulated runs as for the page.
func Table(t *testing.T, page, name string, rows []string) {
	t.Helper()
	t.Log("\n" + strings.Join(rows, "\n"))
	if *Sims != PageSims {
		return
	}
	pages.Lock()
	defer pages.Unlock()
	raw, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	text := string(raw)
	begin, end := fmt.Sprintf("<!-- begin %s -->\n", name), fmt.Sprintf("<!-- end %s -->", name)
	from, to := strings.Index(text, begin)+len(begin), strings.Index(text, end)
	if !strings.Contains(text, begin) || to < from {
		t.Fatalf("%s has no marks for the table %q", page, name)
	}
	want := strings.Join(rows, "\n") + "\n"
	if *Update {
		if err := os.WriteFile(page, []byte(text[:from]+want+text[to:]), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got := text[from:to]; got != want {
		t.Errorf("%s has a table other than the computed one; run with -update.\nThe page:\n%s\nComputed:\n%s", page, got, want)
	}
}
