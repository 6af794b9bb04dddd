package result

import (
	"maps"
	"slices"
	"testing"
)

func TestSettingsAcceptBothFormsOfAChannel(t *testing.T) {
	for name, c := range map[string]struct {
		config map[string]any
		pool   int
		closed bool // the load is a number of calls of users
	}{
		"nothing":          {nil, 0, false},
		"a shared channel": {map[string]any{"caller": map[string]any{"channel": "shared"}}, 0, false},
		"a pool":           {map[string]any{"caller": map[string]any{"channel": map[string]any{"pool": 16.0}}}, 16, false},
		"a pool, from Go":  {map[string]any{"caller": map[string]any{"channel": map[string]any{"pool": 16}}}, 16, false},
		"another version's": {map[string]any{"caller": map[string]any{"kind": 7, "channel": []any{1}},
			"load": map[string]any{"closed": map[string]any{"calls": 100}}}, 0, true},
	} {
		s := Arm{Config: c.config}.Settings()
		if s.Caller.Channel.Pool != c.pool || (s.Load != nil && s.Load.Closed.Calls != nil) != c.closed {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

func TestSettingsAreNamedByTheirPaths(t *testing.T) {
	arm := Arm{Config: map[string]any{"route": "envoy", "load": map[string]any{"open": map[string]any{"rate": 10.0, "duration": "1s"}}}}
	want := map[string]any{"route": "envoy", "load.open.rate": 10.0, "load.open.duration": "1s"}
	if got := arm.SettingsByPath(); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := (Document{Changed: []string{"load.burst=7", "events"}}).ChangedPaths(); !slices.Equal(got, []string{"load.burst", "events"}) {
		t.Errorf("%q", got)
	}
}
