//go:build linux

// Command cluster runs a real Kubernetes on this machine, built from Go modules and Debian packages only:
// see README.md.
package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
)

// A parent-death signal is sent when the thread that started the child ends, so the main thread starts all
// children: prctl(2).
func init() { runtime.LockOSThread() }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// Debian's directories for root; a user's PATH may lack them.
	err := os.Setenv("PATH", os.Getenv("PATH")+":/usr/sbin:/sbin")
	if err == nil {
		err = root().ExecuteContext(ctx)
	}
	if exit, ok := err.(*exec.ExitError); ok { // of the command, which has printed its error
		os.Exit(max(exit.ExitCode(), 1))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "cluster:", err)
		os.Exit(1)
	}
}

func root() *cobra.Command {
	var name string
	var as shape
	root := &cobra.Command{
		Use: "cluster", Short: "Run a real Kubernetes on this machine",
		SilenceUsage: true, SilenceErrors: true,
	}
	usual := cmp.Or(os.Getenv("RPCLAB_CLUSTER"), "default") // that of `with`, for commands that its command runs
	root.PersistentFlags().StringVar(&name, "name", usual, "of the cluster: several may run side by side")
	up := &cobra.Command{
		Use: "up", Short: "Start the cluster, which runs on in the background", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			kubeconfig, started, err := up(c.Context(), name, as, detached)
			if err != nil {
				return err
			}
			if !started {
				progress("cluster %q runs already", name)
			}
			module, err := exec.CommandContext(c.Context(), "go", "list", "-m", "-f", "{{.Dir}}").Output()
			if err != nil {
				return err
			}
			command := []string{"go", "-C", strings.TrimSpace(string(module)), "run", "./test/cluster", "load-image", "--name", name}
			if err := setLoadCommand(kubeconfig, command); err != nil {
				return err
			}
			fmt.Println("export KUBECONFIG=" + kubeconfig)
			return nil
		},
	}
	with := &cobra.Command{
		Use: "with -- COMMAND", Short: "Run a command with KUBECONFIG of a cluster that lives as long as the command", Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return with(c.Context(), name, as, args) },
	}
	for _, c := range []*cobra.Command{up, with} {
		c.Flags().IntVar(&as.nodes, "nodes", 2, fmt.Sprintf("1 to %d", maxNodes))
		c.Flags().IntVar(&as.endpointsPerSlice, "endpoints-per-slice", 100, fmt.Sprintf("at most, in one EndpointSlice: 1 to %d", maxEndpointsPerSlice))
	}
	root.AddCommand(up, with,
		&cobra.Command{
			Use: "build [istio]", Short: "Make what a cluster or Istio needs, ahead of the first", Args: cobra.MaximumNArgs(1), ValidArgs: []string{"istio"},
			RunE: func(c *cobra.Command, args []string) error { return buildAhead(c.Context(), len(args) > 0) },
		},
		&cobra.Command{
			Use: "istio", Short: "Install Istio in the running cluster, which returns when it injects sidecars", Args: cobra.NoArgs,
			RunE: func(c *cobra.Command, _ []string) error { return installIstio(c.Context(), name) },
		},
		&cobra.Command{
			Use: "helm", Short: "Build the client of Helm, once, and print its path", Args: cobra.NoArgs,
			RunE: func(c *cobra.Command, _ []string) error {
				path, err := helmProgram(c.Context())
				if err == nil {
					fmt.Println(path)
				}
				return err
			},
		},
		&cobra.Command{
			Use: "down", Short: "End the cluster and remove all that it left, running or not", Args: cobra.NoArgs,
			RunE: func(c *cobra.Command, _ []string) error { return down(c.Context(), name) },
		},
		&cobra.Command{
			Use: "load-image FILE.tar", Short: "Import images of an OCI or Docker archive into every node", Args: cobra.MinimumNArgs(1),
			RunE: func(c *cobra.Command, files []string) error { return loadImages(c.Context(), name, files) },
		},
		&cobra.Command{
			Use: "exec -- COMMAND", Short: "Run a command in the network of the control plane, where nodes and NodePorts can be reached", Args: cobra.MinimumNArgs(1),
			RunE: func(_ *cobra.Command, args []string) error { return enter(name, args) },
		},
		&cobra.Command{
			Use: "supervise", Hidden: true, Args: cobra.NoArgs,
			RunE: func(c *cobra.Command, _ []string) error { return supervise(c.Context(), name, as) },
		},
		&cobra.Command{
			Use: "init NAME DIRECTORY", Hidden: true, Args: cobra.ExactArgs(2),
			RunE: func(_ *cobra.Command, args []string) error { return initSpace(args[0], args[1]) },
		},
	)
	supervisor, _, _ := root.Find([]string{"supervise"})
	supervisor.Flags().AddFlagSet(up.Flags())
	return root
}
