package main

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"rpclab/internal/process"
)

func trimmed(b []byte) string { return string(bytes.TrimSpace(b)) }

func cpuModel() string {
	cpus, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(cpus)) {
		if field, model, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(field) == "model name" {
			return " (" + strings.TrimSpace(model) + ")"
		}
	}
	return ""
}

// busy is the load of the machine when the benchmark began: figures from a busy machine are less
// reliable.
func busy() string {
	load, _ := os.ReadFile("/proc/loadavg")
	average, _, ok := strings.Cut(string(load), " ")
	if !ok {
		return ""
	}
	return "; load average " + average + " when it began"
}

func freePort(host string) (int, error) {
	listener, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return 0, err
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().(*net.TCPAddr).Port, nil
}

// awaitServer waits until a server accepts connections.
func awaitServer(addr string, p *process.Process) error {
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); {
		if conn, err := net.Dial("tcp", addr); err == nil {
			return conn.Close()
		}
		select {
		case <-p.Done():
			return fmt.Errorf("the server at %s exited: %v\n%s", addr, p.Err(), p.Log())
		case <-time.After(20 * time.Millisecond):
		}
	}
	return fmt.Errorf("the server at %s accepts no connections after 10 s\n%s", addr, p.Log())
}
