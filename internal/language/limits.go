package language

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

func goLimits(cpus int, memory uint64) (env []string) {
	if cpus > 0 {
		env = append(env, "GOMAXPROCS="+strconv.Itoa(cpus))
	}
	if memory > 0 {
		env = append(env, "GOMEMLIMIT="+strconv.FormatUint(memory, 10))
	}
	return env
}

// rustLimits set the worker threads of tokio; Rust has no limit of memory.
func rustLimits(cpus int, _ uint64) []string {
	if cpus == 0 {
		return nil
	}
	return []string{"TOKIO_WORKER_THREADS=" + strconv.Itoa(cpus)}
}

// javaLimits follow the flags that the environment already has, and so take precedence.
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
