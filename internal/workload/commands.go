package workload

import (
	"encoding/json"
	"fmt"
	"io"

	"rpclab/internal/process/stdio"
	"rpclab/internal/security"
)

// Command is a line of JSON on the standard input of a supervised server; one field is set.
type Command struct {
	Fault *Fault `json:"fault,omitempty"` // replaces the last one
	// Count requests a line with the number of calls begun.
	Count bool `json:"count,omitempty"`
	// Security is what a server with security waits for before it serves.
	Security *security.Config `json:"security,omitempty"`
	// Reset resets the open connections. Only fault proxies and servers in pods can.
	Reset bool `json:"reset,omitempty"`
}

// ServeCommands executes commands and returns at the end of input. It sends the first security
// configuration to secure, which needs room for it; nil: the server needs none.
func (s *Server) ServeCommands(commands io.Reader, answers io.Writer, secure chan<- security.Config) {
	_, _ = io.Copy(stdio.NewLines(func(line string) {
		var command Command
		switch err := json.Unmarshal([]byte(line), &command); {
		case err != nil:
			s.Log.Error("unknown command", "error", err) // not the line, which may contain keys
		case command.Fault != nil:
			s.SetFault(*command.Fault)
		case command.Count:
			s.WriteCount(answers)
		case command.Reset:
			s.resetConnections()
		case command.Security != nil && secure != nil:
			secure <- *command.Security
			secure = nil
		}
	}), commands)
}

// WriteCount writes a line with the number of calls begun, without health and reflection.
func (s *Server) WriteCount(to io.Writer) { fmt.Fprintln(to, s.begun.Load()) }

// SetFault injects a fault into all calls that begin from now on. It replaces the last fault.
func (s *Server) SetFault(fault Fault) {
	s.setUp()
	s.fault.Store(&fault)
	s.flapper.begin(s.health, fault.Flap)
	s.dropPackets()
}
