package language

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
)

// LimitEnv is the environment, NAME=value, by which programs of the language keep to so many
// processors and bytes by themselves (0: all there are), as far as their runtime can: where
// control groups bound them it finds the same out. What Go keeps to is the garbage collector's
// aim, of Java that of its heap; Python has no such thing.
func (l Language) LimitEnv(cpus float64, memory uint64) (env []string) {
	if l.limits == nil {
		return nil
	}
	return l.limits(int(math.Ceil(cpus)), memory)
}

func goLimits(cpus int, memory uint64) (env []string) {
	if cpus > 0 {
		env = append(env, "GOMAXPROCS="+strconv.Itoa(cpus))
	}
	if memory > 0 {
		env = append(env, "GOMEMLIMIT="+strconv.FormatUint(memory, 10))
	}
	return env
}

// rustLimits are tokio's.
func rustLimits(cpus int, _ uint64) []string {
	if cpus == 0 {
		return nil
	}
	return []string{"TOKIO_WORKER_THREADS=" + strconv.Itoa(cpus)}
}

// javaLimits come after the flags that the environment has already, and so before them.
func javaLimits(cpus int, memory uint64) []string {
	flags := strings.Fields(os.Getenv("JAVA_TOOL_OPTIONS"))
	if cpus > 0 {
		flags = append(flags, fmt.Sprintf("-XX:ActiveProcessorCount=%d", cpus))
	}
	if memory > 0 {
		flags = append(flags, fmt.Sprintf("-XX:MaxRAM=%d", memory))
	}
	if len(flags) == 0 {
		return nil
	}
	return []string{"JAVA_TOOL_OPTIONS=" + strings.Join(flags, " ")}
}
