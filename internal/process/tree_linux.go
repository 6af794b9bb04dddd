package process

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Tree returns the ids of a process and its descendants, or nil for a process that has ended.
func Tree(pid int) []int {
	tasks := "/proc/" + strconv.Itoa(pid) + "/task/"
	threads, err := os.ReadDir(tasks)
	if err != nil || len(threads) == 0 {
		return nil
	}
	all := []int{pid}
	for _, thread := range threads {
		text, _ := os.ReadFile(tasks + thread.Name() + "/children") // a thread that has ended has no children
		for _, field := range strings.Fields(string(text)) {
			if child, err := strconv.Atoi(field); err == nil {
				all = append(all, Tree(child)...)
			}
		}
	}
	return all
}

// owned returns the processes that started with an owner in [ownersVariable], if this process may read that.
func owned(owner string) (all []int) {
	entries, _ := os.ReadDir("/proc")
	for _, entry := range entries {
		if pid, err := strconv.Atoi(entry.Name()); err == nil && hasOwner(pid, owner) {
			all = append(all, pid)
		}
	}
	return all
}

func hasOwner(pid int, owner string) bool {
	environ, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid)) // empty for a process that has ended
	for variable := range bytes.SplitSeq(environ, []byte{0}) {
		if owners, found := bytes.CutPrefix(variable, []byte(ownersVariable+"=")); found && bytes.Contains(owners, []byte(owner)) {
			return true
		}
	}
	return false
}

// startTime returns when a process started, in clock ticks since boot: proc(5), stat, starttime. It is 0 for a process
// that has ended.
func startTime(pid int) uint64 {
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 20 {
		return 0
	}
	ticks, _ := strconv.ParseUint(fields[19], 10, 64)
	return ticks
}
