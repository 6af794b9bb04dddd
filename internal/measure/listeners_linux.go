package measure

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"rpclab/internal/process"
)

// Listeners returns the processes that listen on an address: an IP address and port, or the path of a Unix
// socket after "unix:". An unspecified IP address, such as 0.0.0.0, means every address. listening reports whether a socket listens there: its process is not known if it belongs to
// another user.
func Listeners(address string) (pids []int, listening bool) {
	sockets := listeningSockets(address)
	if len(sockets) == 0 {
		return nil, false
	}
	files, _ := filepath.Glob("/proc/[0-9]*/fd/*")
	for _, file := range files {
		link, err := os.Readlink(file)
		if err != nil || !slices.Contains(sockets, link) {
			continue
		}
		// Process 1 listens for services that it starts at the first connection. It is no server.
		if pid, err := strconv.Atoi(strings.Split(file, "/")[2]); err == nil && pid > 1 && !slices.Contains(pids, pid) {
			pids = append(pids, pid)
		}
	}
	return pids, true
}

// listeningSockets returns the sockets that listen on an address, as links of /proc/PID/fd name them.
func listeningSockets(address string) (links []string) {
	table, column, match := "/proc/net/unix", 6, func(fields []string) bool {
		const accepts = "00010000" // __SO_ACCEPTCON
		return len(fields) == 8 && fields[3] == accepts && fields[7] == strings.TrimPrefix(address, "unix:")
	}
	if to, err := netip.ParseAddrPort(address); err == nil {
		table, column, match = "/proc/net/tcp", 9, func(fields []string) bool {
			const listen = "0A"
			if len(fields) < 10 || fields[3] != listen {
				return false
			}
			at, err := parseProcAddress(fields[1])
			ip := to.Addr().Unmap().WithZone("") // the table has no zones
			return err == nil && at.Port() == to.Port() && (at.Addr().IsUnspecified() || ip.IsUnspecified() || at.Addr() == ip)
		}
	}
	text, _ := os.ReadFile(table)
	if table == "/proc/net/tcp" { // a socket of IPv6 accepts connections of IPv4 too
		more, _ := os.ReadFile("/proc/net/tcp6")
		text = append(text, more...)
	}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); match(fields) {
			links = append(links, fmt.Sprintf("socket:[%s]", fields[column]))
		}
	}
	return links
}

// parseProcAddress parses an address of /proc/net/tcp: each 32-bit word in the byte order of the machine, as
// hexadecimal digits, then the port (proc(5)).
func parseProcAddress(text string) (netip.AddrPort, error) {
	host, port, _ := strings.Cut(text, ":")
	raw, err := hex.DecodeString(host)
	if err != nil || len(raw)%4 != 0 {
		return netip.AddrPort{}, fmt.Errorf("no address in /proc/net/tcp: %q", text)
	}
	for word := range slices.Chunk(raw, 4) {
		binary.NativeEndian.PutUint32(word, binary.BigEndian.Uint32(word))
	}
	address, ok := netip.AddrFromSlice(raw)
	number, err := strconv.ParseUint(port, 16, 16)
	if err != nil || !ok {
		return netip.AddrPort{}, fmt.Errorf("no address in /proc/net/tcp: %q", text)
	}
	return netip.AddrPortFrom(address.Unmap(), uint16(number)), nil
}

// TreeListens reports whether a process or a descendant listens on an address. known is false if Linux does not say: a
// process belongs to another user, or has a network of its own.
func TreeListens(pid int, address string) (listens, known bool) {
	if _, err := os.Stat("/proc/thread-self/children"); err != nil {
		return false, false
	}
	sockets, here := listeningSockets(address), networkOf(os.Getpid())
	known = len(sockets) > 0 && here != ""
	for _, id := range process.Tree(pid) {
		files, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", id))
		known = known && err == nil && len(files) > 0 && networkOf(id) == here
		for _, file := range files {
			if link, err := os.Readlink(file); err == nil && slices.Contains(sockets, link) {
				return true, true
			}
		}
	}
	return false, known
}

// networkOf names the network namespace of a process; empty: not known.
func networkOf(pid int) string {
	name, _ := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", pid))
	return name
}

// containerPorts are the names of programs (proc_pid_comm(5)) that listen on published ports of containers: of Docker, and of
// Docker and Podman without root.
var containerPorts = []string{"docker-proxy", "rootlesskit", "rootlessport", "slirp4netns", "pasta", "pasta.avx2"}

// forwardsToContainer says that a process forwards connections to a server in a container, which is another process.
func forwardsToContainer(pid int) bool {
	name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	return slices.Contains(containerPorts, strings.TrimSpace(string(name)))
}
