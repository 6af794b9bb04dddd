package main

import (
	"fmt"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"rpclab/experiments"
	"rpclab/internal/experiment"
	"rpclab/internal/lab"
)

func listCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list [EXPERIMENT]",
		Short: "List the built-in experiments and their questions",
		Long: `Lists the built-in experiments, their questions and their arms. With a name it
prints the file of the experiment, to start an experiment of your own from.`,
		Example: "  rpclab list\n  rpclab list channels > mine.yaml",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usageError{fmt.Errorf("%s accepts one experiment, but got %d\nSee '%s --help'", c.CommandPath(), len(args), c.CommandPath())}
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 1 {
				_, doc, err := experiments.Open(args[0])
				if err != nil {
					return usageError{err}
				}
				_, err = c.OutOrStdout().Write(doc)
				return err
			}
			w := tabwriter.NewWriter(c.OutOrStdout(), 0, 0, 2, ' ', 0)
			for _, name := range experiments.Names() {
				file, doc, err := experiments.Open(name)
				if err != nil {
					return err
				}
				e, err := experiment.Read(file, doc, lab.Vocabulary())
				if err != nil {
					return err
				}
				fmt.Fprintf(w, "%s\t%s\n", name, wrap(e.Question, 66, "\t"))
				var arms []string
				for _, arm := range e.Arms {
					arms = append(arms, arm.Name)
				}
				fmt.Fprintf(w, "\t%s\n", wrap("arms: "+strings.Join(arms, ", "), 66, "\t"))
			}
			return w.Flush()
		},
	}
}

func schemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of experiment files",
		Example: `  rpclab schema > experiment.schema.json
  # for editors with a YAML language server, the first line of the file:
  # yaml-language-server: $schema=experiment.schema.json`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			schema, err := experiment.Schema(lab.Vocabulary())
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(c.OutOrStdout(), "%s\n", strings.TrimSpace(string(schema)))
			return err
		},
	}
}

// openExperiment reads a built-in experiment, or a file: a name with a slash or ending in .yaml.
func openExperiment(name string) (file string, doc []byte, err error) {
	if !strings.ContainsRune(name, '/') && !strings.HasSuffix(name, ".yaml") && !strings.HasSuffix(name, ".yml") {
		return experiments.Open(name)
	}
	doc, err = os.ReadFile(name)
	if err != nil {
		return "", nil, fmt.Errorf("cannot read the experiment: %w", err)
	}
	return name, doc, nil
}

func oneExperiment(c *cobra.Command, args []string) error {
	if len(args) == 1 {
		return nil
	}
	return usageError{fmt.Errorf("%s needs one experiment (%s, or a YAML file), but got %d\nSee '%s --help'",
		c.CommandPath(), strings.Join(experiments.Names(), ", "), len(args), c.CommandPath())}
}

func completeExperiments(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return experiments.Names(), cobra.ShellCompDirectiveDefault
}

// wrap breaks text into lines of at most width characters; further lines begin with indent.
func wrap(text string, width int, indent string) string {
	var b strings.Builder
	column := 0
	for _, word := range strings.Fields(text) {
		switch {
		case column == 0:
		case column+1+len(word) > width:
			b.WriteString("\n" + indent)
			column = 0
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += len(word)
	}
	return b.String()
}
