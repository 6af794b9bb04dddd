package analysis

import (
	"math"
	"runtime"
	"testing"
	"time"

	"rpclab/internal/measure"
)

// rpclab needs one processor of many, and another machine or a quota takes half of it: that matters as
// much as on a machine with one processor.
func TestInterferenceIsAShareOfTheNeededCPUTime(t *testing.T) {
	const own = 500 * time.Millisecond
	rest := time.Duration(runtime.NumCPU()-1) * time.Second
	for name, c := range map[string]struct {
		did                       measure.ProcessorTimes
		stolen, throttled, others float64
	}{
		"quiet":       {measure.ProcessorTimes{Busy: own, Idle: rest + own}, 0, 0, 0},
		"stolen":      {measure.ProcessorTimes{Busy: own, Idle: rest, Stolen: own}, 0.5, 0, 0},
		"mostly idle": {measure.ProcessorTimes{Busy: own / 100, Idle: rest + own*197/100, Stolen: own / 50}, 0, 0, 0},
		"throttled":   {measure.ProcessorTimes{Busy: own, Idle: rest + own, Throttled: own}, 0, 0.5, 0},
		"others busy": {measure.ProcessorTimes{Busy: rest + 2*own, Throttled: own}, 0, 0.5, (rest + own).Seconds() / (rest + 2*own).Seconds()},
	} {
		b := Interference(c.did, own)
		for what, pair := range map[string][2]float64{"stolen": {b.Stolen, c.stolen}, "throttled": {b.Throttled, c.throttled}, "others": {*b.Others, c.others}} {
			if math.Abs(pair[0]-pair[1]) > 1e-9 {
				t.Errorf("%s: %s is %.3f, want %.3f", name, what, pair[0], pair[1])
			}
		}
	}
	if b := Interference(measure.ProcessorTimes{}, 0); b != nil {
		t.Errorf("without processor times: %+v, want nil", b)
	}
}
