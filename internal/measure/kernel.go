package measure

// KernelCounters are counts of the kernel since the machine was started; those of TCP are of the network
// namespace of this process. All are 0 if the system does not report them.
type KernelCounters struct {
	Connections uint64 // TCP connections that were opened from here
	Segments    uint64 // TCP segments that were sent
	Bytes       uint64 // that were sent in IP packets, headers included
	Switches    uint64 // context switches of all threads
}

// Since returns what was counted after an earlier reading.
func (k KernelCounters) Since(earlier KernelCounters) KernelCounters {
	return KernelCounters{
		Connections: k.Connections - earlier.Connections, Segments: k.Segments - earlier.Segments,
		Bytes: k.Bytes - earlier.Bytes, Switches: k.Switches - earlier.Switches,
	}
}
