package verdict

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// levels are values around each level, with noise of a share of them.
func levels(source *rand.Rand, noise float64, each int, at ...float64) (all []float64) {
	for _, level := range at {
		for range each {
			all = append(all, level*math.Exp(noise*source.NormFloat64()))
		}
	}
	return all
}

func TestChangePointsFindsWhereTheLevelChanges(t *testing.T) {
	source := rand.New(rand.NewPCG(1, 1))
	outlier := levels(source, 0.02, 20, 5)
	outlier[11] = 50
	for _, c := range []struct {
		name   string
		values []float64
		want   []int
	}{
		{"no value", nil, nil},
		{"equal values", levels(source, 0, 30, 5), nil},
		{"too few", levels(source, 0, 3, 1, 9), nil},
		{"noise", levels(source, 0.05, 60, 5), nil},
		{"one outlier", outlier, nil},
		{"one change", levels(source, 0.02, 10, 5, 6), []int{10}},
		{"a change in the last runs", append(levels(source, 0.02, 20, 5), levels(source, 0.02, 4, 6)...), []int{20}},
		{"up and down", levels(source, 0.02, 12, 5, 6, 5), []int{12, 24}},
	} {
		if got := ChangePoints(c.values, 0.01); !slices.Equal(got, c.want) {
			t.Errorf("%s: changes at %v, want %v", c.name, got, c.want)
		}
	}
}

// A series without a change shows one in at most 5 % of cases at that level.
func TestChangePointsKeepsItsLevel(t *testing.T) {
	source := rand.New(rand.NewPCG(3, 4))
	const cases = 400
	wrong := 0
	for range cases {
		if len(ChangePoints(levels(source, 0.1, 24, 5), 0.05)) > 0 {
			wrong++
		}
	}
	if limit := int(cases * 0.085); wrong > limit { // 5 %, and more than three standard errors
		t.Errorf("%d of %d series without a change show one, want at most %d", wrong, cases, limit)
	}
}
