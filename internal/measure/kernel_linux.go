package measure

import (
	"os"
	"slices"
	"strconv"
	"strings"
)

// ReadKernelCounters reads /proc/net/snmp, /proc/net/netstat (RFC 4022: ActiveOpens, OutSegs) and the ctxt of
// /proc/stat.
func ReadKernelCounters() KernelCounters {
	snmp, _ := os.ReadFile("/proc/net/snmp")
	netstat, _ := os.ReadFile("/proc/net/netstat")
	stat, _ := os.ReadFile("/proc/stat")
	counters := KernelCounters{
		Connections: counterOf(string(snmp), "Tcp:", "ActiveOpens"),
		Segments:    counterOf(string(snmp), "Tcp:", "OutSegs"),
		Bytes:       counterOf(string(netstat), "IpExt:", "OutOctets"),
	}
	if _, line, found := strings.Cut(string(stat), "\nctxt "); found {
		line, _, _ = strings.Cut(line, "\n")
		counters.Switches, _ = strconv.ParseUint(line, 10, 64)
	}
	return counters
}

// counterOf returns a counter of a group: a line with the names of its counters comes before one with their values.
// 0: there is none.
func counterOf(text, group, name string) (n uint64) {
	var names []string
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) == 0 || fields[0] != group {
			continue
		}
		if names == nil {
			names = fields
			continue
		}
		if i := slices.Index(names, name); i >= 0 && i < len(fields) {
			n, _ = strconv.ParseUint(fields[i], 10, 64)
		}
		return n
	}
	return 0
}
