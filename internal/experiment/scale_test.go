package experiment

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const ofAStudy = head + "published_size: 200 calls\nscale: {load.burst: 200}\npublished: [{arm: a, elapsed_ms: 7}]\nquick: {load.burst: 2}\n"

func TestAScaleIsRelativeToTheStudy(t *testing.T) {
	for scale, want := range map[float64]struct {
		burst   int
		changed []string
		size    string
	}{
		0:      {5, nil, "200 calls"},
		0.5:    {100, []string{"scale=0.5", "load.burst=100"}, "200 calls"},
		0.0001: {1, []string{"scale=0.0001", "load.burst=1"}, "200 calls"},
		2:      {400, []string{"scale=2", "load.burst=400"}, "200 calls"},
		1:      {200, nil, ""}, // the load of the study
	} {
		p := mustExpand(t, ofAStudy, Options{Scale: scale})
		if got := p.Trials[0].Config.Load.Burst; got != want.burst || p.PublishedSize != want.size || !cmp.Equal(p.Changed, want.changed) {
			t.Errorf("--scale %v: a burst of %d, published size %q, changed %q; want %+v", scale, got, p.PublishedSize, p.Changed, want)
		}
	}
}

func TestAScaleMultipliesEveryKindOfNumber(t *testing.T) {
	for _, c := range []struct {
		value  any
		factor float64
		want   string
	}{
		{3, 0.5, "2"}, {1, 0.1, "1"}, {0.5, 3, "1.5"}, {"64Mi", 0.5, "32Mi"}, {"64Mi", 1. / 3, "21845Ki"}, {"1Ki", 0.1, "1Ki"}, {"90s", 2, "3m"},
		{"headless", 2, ""}, {true, 2, ""}, {"3%", 2, ""},
	} {
		got, ok := multiplied(&node{kind: scalar, text: fmt.Sprint(c.value), value: c.value}, c.factor)
		if ok != (c.want != "") || ok && got.text != c.want {
			t.Errorf("%v · %v is %+v, %v; want %q", c.value, c.factor, got, ok, c.want)
		}
	}
}

func TestAScaleOverridesQuickAndSetOverridesAScale(t *testing.T) {
	p := mustExpand(t, ofAStudy, Options{Quick: true, Scale: 0.1})
	if got := p.Trials[0].Config.Load.Burst; got != 20 {
		t.Errorf("--quick --scale 0.1: a burst of %d, want 20", got)
	}
	p = mustExpand(t, ofAStudy, Options{Scale: 1, Set: []string{"load.burst=9"}})
	if got := p.Trials[0].Config.Load.Burst; got != 9 || p.PublishedSize == "" {
		t.Errorf("--scale 1 --set load.burst=9: a burst of %d, published size %q; want 9 and a size", got, p.PublishedSize)
	}
}

func TestInvalidScalesAreRejectedWithAReason(t *testing.T) {
	for doc, want := range map[string]string{
		head:     "--scale 0.5: x has no scale block: remove --scale, and set fields with --set",
		ofAStudy: "--scale -1: the scale must be more than 0; 1 is the load of the published study",
		strings.Replace(ofAStudy, "load.burst: 200", "load.burst: 1000000", 1): "--scale 2: load.burst must be 1 to 1000000, not 2000000",
		strings.Replace(ofAStudy, "{load.burst: 200}", "{route: headless}", 1): `x.yaml:7:16: scale: route: use a number, a duration or a size such as 64Mi, because --scale multiplies it`,
		strings.Replace(ofAStudy, "load.burst: 200", "load.brst: 200", 1):      `x.yaml:7:9: unknown field "brst" in load`,
	} {
		scale := map[bool]float64{true: -1, false: 0.5}[strings.Contains(want, "-1")]
		if strings.Contains(want, "--scale 2") {
			scale = 2
		}
		if _, err := Expand("x.yaml", []byte(doc), Options{Scale: scale}, vocabulary); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("--scale %v: the error is %v, want %s", scale, err, want)
		}
	}
}
