package summary

import (
	"encoding/json"
	"fmt"
	"io"

	"rpclab/internal/load"
	"rpclab/internal/result"
)

// generator says what the load cost this side, and what the generator can do here.
func generator(out io.Writer, arm result.Arm) {
	fmt.Fprint(out, "\nGenerator\n")
	cost := arm.Resources.Client
	item(out, fmt.Sprintf("%.3g µs CPU a call, %s MB at most", cost.CPU, whole(cost.RSS/1e6)))
	if a, ok := abilityOf(arm.Config["generator"]); ok {
		Ability(out, a)
	}
}

// Ability says the figures of a self-test.
func Ability(out io.Writer, a load.Ability) {
	item(out, fmt.Sprintf("its ceiling here: %s calls/s (%s, %d at once, %.3g µs CPU a call, with an answerer in the same process)",
		rate(a.Ceiling), a.Engine, a.Users, a.CPU))
	item(out, fmt.Sprintf("its floor: p50 %.3g µs, p99 %.3g µs (one call at a time); the same %d and %d bytes to and fro on bare TCP: p50 %.3g µs, p99 %.3g µs",
		a.FloorP50, a.FloorP99, a.Sent, a.Got, a.PingP50, a.PingP99))
}

// abilityOf reads a self-test from a document that may have come from JSON.
func abilityOf(config any) (a load.Ability, ok bool) {
	if config == nil {
		return a, false
	}
	text, err := json.Marshal(config)
	if err == nil {
		err = json.Unmarshal(text, &a)
	}
	return a, err == nil
}
