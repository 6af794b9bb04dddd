package verdict

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"rpclab/internal/testkit"
)

const (
	page       = "../../docs/method/statistics.md"
	acrossPage = "../../docs/method/comparing.md"
)

// pages is locked while a test reads or writes a page, because tests run in parallel.
var pages sync.Mutex

// checkTable compares rows with the table of this name on a page; -update rewrites the table. Figures depend on
// -sims, so it compares only tables with the page's own number of runs.
func checkTable(t *testing.T, page, name string, rows []string) {
	t.Helper()
	t.Log("\n" + strings.Join(rows, "\n"))
	if *sims != pageSims {
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
	if *testkit.Update {
		if err := os.WriteFile(page, []byte(text[:from]+want+text[to:]), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got := text[from:to]; got != want {
		t.Errorf("%s has a table other than the computed one; run with -update.\nThe page:\n%s\nComputed:\n%s", page, got, want)
	}
}
