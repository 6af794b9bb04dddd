package measure

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"rpclab/internal/process"
)

// JVMTimes are how long a Java virtual machine has collected garbage and compiled code since it was started: elapsed
// time, also while its threads waited for a processor. Compilers run beside the program, each in its own thread, so
// their times may pass at the same time.
type JVMTimes struct {
	Collecting time.Duration
	Compiling  time.Duration
}

// ReadJVMs returns the times of the Java virtual machines among processes and their descendants, by process ID. A
// machine that keeps no counters (-XX:-UsePerfData) is not among them.
func ReadJVMs(pids ...int) map[int]JVMTimes {
	files, _ := filepath.Glob("/tmp/hsperfdata_*/*")
	if len(files) == 0 { // finding descendants takes longer
		return nil
	}
	found := map[int]JVMTimes{}
	for _, pid := range pids {
		for _, id := range process.Tree(pid) {
			for _, file := range files {
				if filepath.Base(file) != strconv.Itoa(id) || !hasMapped(id, file) {
					continue
				}
				data, err := os.ReadFile(file)
				if times, ok := jvmTimes(data); err == nil && ok {
					found[id] = times
				}
			}
		}
	}
	return found
}

// hasMapped reports whether a process has mapped a file into its memory. If not, the file is of an earlier process.
func hasMapped(pid int, file string) bool {
	regions, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/maps")
	return err == nil && bytes.Contains(regions, []byte(file))
}

// JVMTimesSince adds up what machines have spent after an earlier reading; nil: there are none, or one has ended.
func JVMTimesSince(earlier, now map[int]JVMTimes) *JVMTimes {
	if len(now) == 0 {
		return nil
	}
	for pid := range earlier {
		if _, runs := now[pid]; !runs {
			return nil
		}
	}
	var sum JVMTimes
	for pid, times := range now {
		sum.Collecting += times.Collecting - earlier[pid].Collecting
		sum.Compiling += times.Compiling - earlier[pid].Compiling
	}
	return &sum
}

// jvmTimes reads the counters of a HotSpot machine, as jstat does (PerfDataPrologue and PerfDataEntry in HotSpot's
// perfMemory.hpp): a header, and entries with a name and, if they are numbers, 8 bytes.
func jvmTimes(data []byte) (times JVMTimes, ok bool) {
	const header, entryHeader = 32, 20
	if len(data) < header || !bytes.Equal(data[:4], []byte{0xca, 0xfe, 0xc0, 0xc0}) {
		return times, false
	}
	var order binary.ByteOrder = binary.BigEndian
	if data[4] == 1 {
		order = binary.LittleEndian
	}
	number := func(at int) int { return int(order.Uint32(data[at:])) }
	counters := map[string]int64{}
	for at, left := number(24), number(28); left > 0; left-- {
		if at < 0 || at+entryHeader > len(data) {
			return times, false
		}
		length, name, value := number(at), at+number(at+4), at+number(at+16)
		if length < entryHeader || name > len(data) || value+8 > len(data) {
			return times, false
		}
		if vector, kind := number(at+8), data[at+12]; vector == 0 && kind == 'J' {
			text, _, _ := bytes.Cut(data[name:], []byte{0})
			counters[string(text)] = int64(order.Uint64(data[value:]))
		}
		at += length
	}
	ticks := counters["sun.os.hrt.frequency"]
	if ticks <= 0 {
		return times, false
	}
	for name, n := range counters {
		spent := time.Duration(float64(n) / float64(ticks) * float64(time.Second))
		switch {
		case strings.HasPrefix(name, "sun.gc.collector.") && strings.HasSuffix(name, ".time"):
			times.Collecting += spent
		case name == "java.ci.totalTime":
			times.Compiling += spent
		}
	}
	return times, true
}
