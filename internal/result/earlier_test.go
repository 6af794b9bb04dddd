package result

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestAPlanReadsNoDocumentsOfEarlierRuns(t *testing.T) {
	s, ctx := openStore(t, t.TempDir()), context.Background()
	save := func(id string, minute int, change func(*Document)) Document {
		d := sampleDocument(t)
		d.ID, d.Started = id, start.Add(time.Duration(minute)*time.Minute)
		d.Verdicts = []Verdict{
			{Metric: "latency_p50", A: "pool", B: "shared", Kind: OfBaseline, Power: &Power{Error: 0.02, Freedom: 3, Raised: 0.01}},
			{Metric: "latency_p50", A: "again", B: "shared", Kind: OfControl, Power: &Power{Error: 0.02, Freedom: 3}},
		}
		change(&d)
		must(t, s.Save(ctx, d))
		return d
	}
	first := save("a-first", 1, func(d *Document) { d.Quick = true })
	save("b-partial", 2, func(d *Document) { d.Partial = true })
	save("c-other", 3, func(d *Document) { d.Experiment = "other" })
	second := save("d-second", 4, func(*Document) {})
	save("e-older", 0, func(*Document) {}) // by a rpclab without summaries
	for _, change := range []string{"UPDATE runs SET document = 'damaged', header = 'damaged'", "DELETE FROM earlier WHERE run = 'e-older'"} {
		_, err := s.db.Exec(change)
		must(t, err)
	}
	got, err := s.Earlier(ctx, "channels")
	must(t, err)
	want := []Earlier{EarlierOf(second), EarlierOf(first), {ID: "e-older"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if noise := got[0].Noise; len(noise) != 1 || noise[0] != (Noise{Metric: "latency_p50", A: "pool", B: "shared", Error: 0.02, Freedom: 3, Raised: 0.01}) {
		t.Errorf("the noise is %+v, want that of the verdict that answers the question", noise)
	}
}
