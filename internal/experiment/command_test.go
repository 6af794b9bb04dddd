package experiment

import (
	"testing"
	"time"
)

func TestTheCommandRepeatsTheRun(t *testing.T) {
	for want, options := range map[string]Options{
		"rpclab run channels --seed 7": {Seed: 7},
		"rpclab run channels --quick --arms shared,pool --set load.burst=500 --set 'describe=it'\\''s $HOME' --rounds 3 --until decided --max-rounds 9 --seed 1": {
			Quick: true, Arms: []string{"shared", "pool"}, Set: []string{"load.burst=500", "describe=it's $HOME"}, Rounds: 3, UntilDecided: true, MaxRounds: 9, Seed: 1},
		"rpclab run channels --scale 0.008 --for 1m30s --seed 2": {Scale: 0.008, UntilDecided: true, For: 90 * time.Second, Seed: 2},
		"rpclab run channels --flow 'find item,buy' --seed 3":    {Flow: []string{"find item", "buy"}, Seed: 3},
	} {
		if got := options.Command("channels"); got != want {
			t.Errorf("the command is %s\nwant %s", got, want)
		}
	}
	if got, want := (Options{}).Command("./my tests/a.yaml"), "rpclab run './my tests/a.yaml' --seed 0"; got != want {
		t.Errorf("the command is %s\nwant %s", got, want)
	}
}
