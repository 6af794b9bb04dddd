package lab

import (
	"errors"
	"fmt"

	"rpclab/internal/analysis"
	"rpclab/internal/experiment"
	"rpclab/internal/result"
	"rpclab/internal/tool"
)

// Tools returns the programs that routes of the plan start, in the order of the arms.
func (p Plan) Tools() []tool.Tool { return toolsOf(p.trials) }

// Header returns what the result of a run on a cluster, local or kubernetes, has before the first trial.
func (p Plan) Header(cluster string) result.Document {
	return header(p.Plan, p.trials, Options{Kind: cluster})
}

// Needs adds to a plan's description what the run starts on this machine, how many pairs it compares in how many rounds,
// and its loads.
func (p Plan) Needs(to result.Plan) result.Plan {
	to.Tools = tool.Names(p.Tools())
	to.Missing, to.Unavailable = lacking(p.Tools(), tool.Tool.Find)
	d := header(p.Plan, p.trials, Options{})
	to.Pairs, to.Loads = analysis.Pairs(d), result.LoadTimes(d)
	calls := p.mostCalls()
	to.Headline, to.ByRank = p.Headline, analysis.ByRank(d)
	to.TooFewCalls, to.RoundsForVerdict = analysis.TooFewCalls(d, calls), analysis.RoundsForVerdict(d, calls)
	inRound := map[result.ArmKey]int{}                         // trials of the first round
	processes, memory := map[string]int{}, map[string]uint64{} // of the first round, by cell and group
	for _, t := range p.trials {
		if t.Round > 1 {
			continue
		}
		arm := t.armKey()
		inRound[arm]++
		key := fmt.Sprint(arm.Cell, t.Group)
		if p.Design == experiment.Isolated {
			processes[key], memory[key] = 0, 0 // one trial at a time
		}
		processes[key] += processesOf(t)
		memory[key] += memoryOf(t)
		to.MemoryEstimate = max(to.MemoryEstimate, memory[key])
		to.Processes = max(to.Processes, processes[key])
		files, _ := filesNeeded(t)
		to.Files = max(to.Files, files)
	}
	for i, l := range to.Loads {
		to.Loads[i].Trials += inRound[result.ArmKey{Name: l.Arm, Cell: l.Cell}]
	}
	return to
}

// mostCalls returns the largest number of calls that are due in a trial; 0: one depends on the responses.
func (p Plan) mostCalls() (most int) {
	for _, t := range p.trials {
		due := t.Config.Load.Due()
		if due == 0 {
			return 0
		}
		most = max(most, due)
	}
	return most
}

// lacking returns the tools that are not installed: those that can be, and those that rpclab cannot install on this platform.
func lacking(tools []tool.Tool, find func(tool.Tool) (string, error)) (missing, unavailable []string) {
	missing = []string{}
	for _, t := range tools {
		switch _, err := find(t); {
		case errors.Is(err, tool.ErrUnavailable):
			unavailable = append(unavailable, t.Name)
		case errors.Is(err, tool.ErrMissing):
			missing = append(missing, t.Name)
		}
	}
	return missing, unavailable
}

// processesOf returns the approximate number of processes that a trial has at a time.
func processesOf(t trial) int {
	n := startedBackends(t) + t.Config.CallerCount()
	if t.route.Start != nil {
		n++
		if t.settings.Proxy.Sidecar {
			n += t.Config.CallerCount() - 1
		}
	}
	if t.Config.Gateway != nil {
		n++
	}
	return n
}
