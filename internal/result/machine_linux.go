package result

import (
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// describe fills in the hardware and kernel, as far as the system reports them.
func describe(m *Machine) {
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) == nil {
		m.Memory = info.Totalram * uint64(info.Unit)
	}
	var name unix.Utsname
	if unix.Uname(&name) == nil {
		m.Kernel = unix.ByteSliceToString(name.Release[:])
	}
	cpus, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(cpus)) {
		if field, model, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(field) == "model name" {
			m.Model = strings.TrimSpace(model)
			return
		}
	}
}
