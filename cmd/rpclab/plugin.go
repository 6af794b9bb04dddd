package main

import (
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// pluginProgram is the name under which kubectl finds this program as the plugin `kubectl rpclab`.
const pluginProgram = "kubectl-rpclab"

// asPlugin makes the commands those of `kubectl rpclab` if this program was started under the name of the plugin.
// Their texts name the plugin, and runs are on Kubernetes unless --on says otherwise. It returns a function that
// names the plugin in a message.
func asPlugin(root *cobra.Command, program string) (message func(string) string) {
	if strings.TrimSuffix(filepath.Base(program), ".exe") != pluginProgram {
		return func(text string) string { return text }
	}
	var names []string
	for _, c := range root.Commands() {
		names = append(names, c.Name())
	}
	call := regexp.MustCompile(`\b(?:kubectl )?rpclab (` + strings.Join(names, "|") + `)\b`)
	named := func(text string) string { return call.ReplaceAllString(text, "kubectl rpclab $1") }
	root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl rpclab"}
	var adapt func(*cobra.Command)
	adapt = func(c *cobra.Command) {
		c.Short, c.Long, c.Example = named(c.Short), named(c.Long), named(c.Example)
		c.Flags().VisitAll(func(f *pflag.Flag) {
			f.Usage = named(f.Usage)
			if f.Name == "on" && f.Value.Set("kubernetes") == nil {
				f.DefValue = "kubernetes"
			}
		})
		for _, sub := range c.Commands() {
			adapt(sub)
		}
	}
	adapt(root)
	return named
}
