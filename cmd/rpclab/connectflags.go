package main

import (
	"github.com/spf13/pflag"

	generator "rpclab/internal/load"
)

// connectFlags are those of how connections are opened and kept.
func connectFlags(flags *pflag.FlagSet, c *generator.Connecting) {
	flags.IntVar(&c.Streams, "streams", 0, "calls in flight on a connection at most; others wait")
	flags.Float64Var(&c.ConnectRate, "connect-rate", 0, "connections opened per second (default: no bound)")
	flags.StringArrayVar(&c.Sources, "source", nil, "`ADDRESS|PREFIX` of this machine to connect from, in turn, as often as needed")
	flags.DurationVar(&c.KeepAlive, "keepalive", 0, "PING a server after so long a silence; 20s more without a word end the connection")
	flags.DurationVar(&c.IdleClose, "idle-close", 0, "close a connection that had no call for so long, until its next")
}
