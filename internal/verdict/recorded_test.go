package verdict

import (
	"embed"
	"encoding/csv"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"rpclab/internal/testkit"
)

// recordings have the latencies of the blocks of three equal arms: testdata/README.md.
//
//go:embed testdata/*.csv
var recordings embed.FS

// recorded returns the values of each column of a recording, such as one_p50.
func recorded(t *testing.T, name string) map[string][]float64 {
	t.Helper()
	file, err := recordings.Open("testdata/" + name + ".csv")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	columns := map[string][]float64{}
	for _, row := range rows[1:] {
		for i, field := range row {
			x, err := strconv.ParseFloat(field, 64)
			if err != nil {
				t.Fatal(err)
			}
			columns[rows[0][i]] = append(columns[rows[0][i]], x)
		}
	}
	return columns
}

// TestCoverageOfRecordedNoise replays recorded blocks. A run is a sequence of consecutive cycles from a random
// position, with arms in random roles. The arms are equal, so the interval has to contain 1.
func TestCoverageOfRecordedNoise(t *testing.T) {
	t.Parallel() // each test has its own random numbers
	sizes := []int{8, 12, 20, 40}
	rows := []string{
		"| recorded | metric | neighbours correlate | " + joined(sizes, "%d cycles") + " | half-width, 40 cycles |",
		"|---|---|--:|" + strings.Repeat("---|", len(sizes)) + "--:|",
	}
	for _, of := range []struct{ recording, metric string }{
		{"quiet", "p50"}, {"quiet", "p99"}, {"neighbour", "p50"}, {"neighbour", "p99"}, {"busy", "p50"}, {"busy", "p90"},
	} {
		columns := recorded(t, of.recording)
		arms := [][]float64{columns["one_"+of.metric], columns["two_"+of.metric], columns["three_"+of.metric]}
		row := fmt.Sprintf("| %s | %s | %.2f |", of.recording, of.metric, correlationOf(arms[0], arms[1]))
		var width float64
		for _, n := range sizes {
			var missed int
			if missed, width = replay(arms, n); testkit.TooMany(missed, *testkit.Sims, 0.07) {
				t.Errorf("%s, %s, %d cycles: the interval misses 1 in %d of %d runs, want at most 7 %%", of.recording, of.metric, n, missed, *testkit.Sims)
			}
			row += fmt.Sprintf(" %.1f %% |", 100-testkit.Percent(missed, *testkit.Sims))
		}
		rows = append(rows, row+fmt.Sprintf(" %.1f %% |", 100*width))
	}
	testkit.Table(t, page, "recorded", rows)
}

// replay draws runs of n consecutive cycles of equal arms. It returns in how many the interval does not contain 1,
// and the mean half-width of the intervals of up to 100 of them, as a logarithm.
func replay(arms [][]float64, n int) (missed int, half float64) {
	r := rand.New(rand.NewPCG(65, uint64(n)))
	sized := min(100, *testkit.Sims)
	for i := range *testkit.Sims {
		from, roles := r.IntN(len(arms[0])-n+1), r.Perm(3)
		a, b := arms[roles[0]][from:from+n], arms[roles[1]][from:from+n]
		pairs := make([]Pair, n)
		for i := range pairs {
			pairs[i] = Pair{A: a[i], B: b[i]}
		}
		logs, _ := logRatios(pairs)
		u := uncertaintyOf(pairs, logs, Options{Consecutive: true, Others: [][]float64{arms[roles[2]][from : from+n]}})
		if studentMisses(logs, 0.05) && u.beyond(mean(logs)) < 0.05 {
			missed++
		}
		if i < sized {
			half += u.half(0.05) / float64(sized)
		}
	}
	return missed, half
}

// correlationOf returns the correlation of neighbouring log ratios.
func correlationOf(a, b []float64) float64 {
	var logs []float64
	for i := range a {
		logs = append(logs, math.Log(a[i]/b[i]))
	}
	m, products := mean(logs), 0.0
	for i := range logs[1:] {
		products += (logs[i] - m) * (logs[i+1] - m)
	}
	return products / square(deviation(logs)) / float64(len(logs)-1)
}
