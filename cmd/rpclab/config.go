package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"gopkg.in/yaml.v3"

	"rpclab/internal/suggest"
)

// configVariable is the environment variable with the path of the configuration file.
const configVariable = "RPCLAB_CONFIG"

// configurable are the commands whose flags can have defaults in the configuration file. rpclab starts servers,
// callers and proxies by its other commands: a default there would change what runs measure.
var configurable = []string{"run", "load", "report", "compare", "serve", "clean"}

// appliedDefaults is the annotation of a command with the defaults that it has from the configuration file.
const appliedDefaults = "defaults"

// readDefaults makes a command take flags that the command line does not set from the configuration file.
func readDefaults(command *cobra.Command) {
	check := command.Args
	command.Args = func(c *cobra.Command, args []string) error {
		if err := applyDefaults(c); err != nil {
			return usageError{err}
		}
		return check(c, args)
	}
}

func applyDefaults(c *cobra.Command) error {
	path := os.Getenv(configVariable)
	if path == "" {
		path = configFile(os.Getenv, os.UserHomeDir)
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) && os.Getenv(configVariable) == "" {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot read the configuration file: %w; set %s to another file", err, configVariable)
	}
	defaults, err := parseDefaults(path, text, c.Root())
	if err != nil {
		return err
	}
	var applied []string
	for _, d := range defaults[c.Name()] {
		if c.Flags().Changed(d.flag) {
			continue
		}
		for _, value := range d.values {
			if err := c.Flags().Set(d.flag, value); err != nil {
				return fmt.Errorf("%s: %w", d.at, err)
			}
			applied = append(applied, "--"+d.flag+"="+value)
		}
		if err := c.Flags().SetAnnotation(d.flag, appliedDefaults, []string{d.at}); err != nil {
			return err
		}
	}
	if len(applied) > 0 {
		c.Annotations = map[string]string{appliedDefaults: path + " sets " + strings.Join(applied, " ")}
	}
	return nil
}

// isDefault reports whether the configuration file set a flag. It need not fit every use of its command.
func isDefault(flag *pflag.Flag) bool { return flag.Annotations[appliedDefaults] != nil }

// onCommandLine returns a function that reports whether the command line sets a flag.
func onCommandLine(flags *pflag.FlagSet) func(name string) bool {
	return func(name string) bool {
		flag := flags.Lookup(name)
		return flag.Changed && !isDefault(flag)
	}
}

// configFile is the path of the configuration file: in $XDG_CONFIG_HOME, which must be absolute, or ~/.config.
func configFile(env func(string) string, home func() (string, error)) string {
	dir := env("XDG_CONFIG_HOME")
	if !filepath.IsAbs(dir) {
		own, err := home()
		if err != nil {
			return ""
		}
		dir = filepath.Join(own, ".config")
	}
	return filepath.Join(dir, "rpclab", "config.yaml")
}

// flagDefault is the default of a flag.
type flagDefault struct {
	flag   string
	values []string // several for a flag that is repeatable
	at     string   // its place in the file
}

// parseDefaults reads the configuration file: the flags of each command.
func parseDefaults(path string, text []byte, root *cobra.Command) (map[string][]flagDefault, error) {
	var document, second yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	if err := decoder.Decode(&document); err != nil && err != io.EOF {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if err := decoder.Decode(&second); err == nil {
		return nil, fmt.Errorf("%s:%d:%d: a second document begins here; write one", path, second.Line, second.Column)
	} else if err != io.EOF {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	all := map[string][]flagDefault{}
	if len(document.Content) == 0 {
		return all, nil
	}
	place := func(n *yaml.Node) string { return fmt.Sprintf("%s:%d:%d", path, n.Line, n.Column) }
	sections := document.Content[0]
	if sections.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("%s: write commands with their flags, such as run: {no-store: true}", place(sections))
	}
	for i := 0; i+1 < len(sections.Content); i += 2 {
		name, flags := sections.Content[i], sections.Content[i+1]
		command, _, err := root.Find([]string{name.Value})
		switch {
		case err != nil || !slices.Contains(configurable, name.Value):
			return nil, fmt.Errorf("%s: rpclab takes no defaults for %q (only for %s)%s", place(name), name.Value, strings.Join(configurable, ", "), suggest.DidYouMean(name.Value, configurable))
		case flags.Kind != yaml.MappingNode:
			return nil, fmt.Errorf("%s: write the flags of %s, such as %s: {keep-paths: true}", place(flags), name.Value, name.Value)
		case all[name.Value] != nil:
			return nil, fmt.Errorf("%s: %s has two sections; write one", place(name), name.Value)
		}
		all[name.Value] = []flagDefault{}
		for j := 0; j+1 < len(flags.Content); j += 2 {
			d, err := parseDefault(command, flags.Content[j], flags.Content[j+1], place)
			if err != nil {
				return nil, err
			}
			if slices.ContainsFunc(all[name.Value], func(other flagDefault) bool { return other.flag == d.flag }) {
				return nil, fmt.Errorf("%s: --%s has two defaults; write one", d.at, d.flag)
			}
			all[name.Value] = append(all[name.Value], d)
		}
	}
	return all, nil
}

func parseDefault(command *cobra.Command, key, value *yaml.Node, place func(*yaml.Node) string) (flagDefault, error) {
	d := flagDefault{flag: key.Value, at: place(key)}
	if command.Flags().Lookup(d.flag) == nil || d.flag == "help" {
		var names []string
		command.Flags().VisitAll(func(flag *pflag.Flag) { names = append(names, flag.Name) })
		return d, fmt.Errorf("%s: rpclab %s has no flag --%s ('rpclab %s --help' lists its flags)%s",
			d.at, command.Name(), d.flag, command.Name(), suggest.DidYouMean(d.flag, names))
	}
	values := []*yaml.Node{value}
	if value.Kind == yaml.SequenceNode {
		values = value.Content
	}
	for _, v := range values {
		if v.Kind != yaml.ScalarNode {
			return d, fmt.Errorf("%s: write the value of --%s as on the command line, or a list of such values", place(v), d.flag)
		}
		d.values = append(d.values, v.Value)
	}
	return d, nil
}
