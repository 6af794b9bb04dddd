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

// JVMEnv is the environment, NAME=value, that bounds the heap and the direct memory of a JVM, in bytes (0: the JVM's
// default). It takes precedence over the share of the memory in the command line of Java's servers.
func JVMEnv(heap, direct uint64) []string {
	var flags []string
	if heap > 0 {
		flags = append(flags, fmt.Sprintf("-Xmx%d", heap))
	}
	if direct > 0 {
		flags = append(flags, fmt.Sprintf("-XX:MaxDirectMemorySize=%d", direct))
	}
	if len(flags) == 0 {
		return nil
	}
	return []string{"JDK_JAVA_OPTIONS=" + strings.Join(flags, " ")}
}
