package verdict

import (
	"flag"
	"testing"

	"go.uber.org/goleak"
)

var sims = flag.Int("sims", 100, "simulated runs for each figure; those of the page are made with 5000")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
