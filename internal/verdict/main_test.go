package verdict

import (
	"flag"
	"testing"

	"go.uber.org/goleak"
)

var (
	update = flag.Bool("update", false, "rewrite the tables of docs/method/statistics.md")
	sims   = flag.Int("sims", 2000, "simulated runs for each figure; the tables are made with 20000")
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
