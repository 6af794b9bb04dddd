package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/spf13/cobra"

	"rpclab/internal/image"
	"rpclab/internal/language"
	"rpclab/internal/process"
	"rpclab/internal/tool"
)

// imageFlags are the flags of `rpclab image build`.
type imageFlags struct {
	name, output, push, platform string
	program                      string
	with, languages, licences    []string
}

func imageCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "image",
		Short: "Build the container image for runs on Kubernetes",
		Args:  knownCommand,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	command.AddCommand(imageBuildCommand())
	return command
}

func imageBuildCommand() *cobra.Command {
	var f imageFlags
	command := &cobra.Command{
		Use:   "build (--output FILE.tar | --push NAME)",
		Short: "Build a container image of rpclab without a container engine",
		Long: `Builds a container image with rpclab and the proxies that are installed on this
machine, and prints its name for 'rpclab run --image'. The image runs as a
non-root user on a read-only root file system. Images with the same contents
have the same name.

A run on a cluster of kind, k3d or minikube builds and loads the image that it
needs itself.`,
		Example: `  rpclab image build --push registry.example.com/team/rpclab:v1

  rpclab image build --with '' --languages python --output rpclab.tar
  ctr -n k8s.io images import rpclab.tar       # on every node`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return buildImage(c, f) },
	}
	flags := command.Flags()
	flags.StringVar(&f.name, "name", "", "`name` of the image in --output (default: the name of --push, or rpclab with a checksum of its contents)")
	flags.StringVar(&f.output, "output", "", "write an OCI archive to `file`")
	flags.StringVar(&f.push, "push", "", "push the image to a registry as `name`, with the credentials of docker login")
	flags.StringVar(&f.platform, "platform", "", "`linux/ARCHITECTURE` (default: this machine's architecture)")
	flags.StringVar(&f.program, "program", "", "the rpclab for the image, a `file` (default: this program; for another architecture, Go builds it in the source tree)")
	flags.StringSliceVar(&f.with, "with", nil, "`proxies` to include, comma-separated; '' includes none (default: all installed proxies)")
	flags.StringSliceVar(&f.languages, "languages", nil, "`languages` whose servers and callers to include, comma-separated: "+strings.Join(otherLanguages(), ", ")+" (default: none)")
	flags.StringSliceVar(&f.licences, "licences", nil, "texts to include, relative `paths`") // by tools/release
	_ = flags.MarkHidden("licences")
	return command
}

func buildImage(c *cobra.Command, f imageFlags) (err error) {
	if f.output == "" && f.push == "" {
		return usageError{errors.New("the destination is missing: use --output FILE.tar or --push NAME\nSee 'rpclab image build --help'")}
	}
	if stdout := process.BehindLinks("/dev/stdout"); f.output == "-" || f.output != "" && process.BehindLinks(f.output) == stdout {
		return usageError{fmt.Errorf("--output %s: rpclab prints the image name on standard output; name a file", f.output)}
	}
	if err := (outputs{json: f.output}).check(); err != nil {
		return usageError{err}
	}
	f.name = cmp.Or(f.name, f.push)
	for _, name := range []string{f.name, f.push} {
		if _, err := image.FullName(name); name != "" && err != nil {
			return usageError{err}
		}
	}
	o := image.Options{Licences: f.licences}
	if o.Platform, err = image.Platform(f.platform); err != nil {
		return usageError{fmt.Errorf("--platform: %w", err)}
	}
	if f.program != "" {
		if err := image.CheckProgram(f.program, o.Platform); err != nil {
			return usageError{fmt.Errorf("--program: %w", err)}
		}
	}
	if o.Version, err = image.Version(); err != nil {
		return err
	}
	if o.Tools, err = f.tools(c, o); err != nil {
		return err
	}
	if o.Programs, err = f.programs(c, o.Platform); err != nil {
		return err
	}
	dir, err := process.NewTempDir()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.Remove()) }()
	if f.program != "" {
		o.Program = f.program
	} else if o.Program, err = image.Program(c.Context(), o.Platform, dir.Path); err != nil {
		return err
	}
	if f.name == "" {
		if f.name, err = image.Name(c.Context(), o); err != nil {
			return err
		}
	}
	built, err := image.Build(c.Context(), o)
	if err != nil {
		return err
	}
	if f.output != "" {
		if err := image.WriteArchive(c.Context(), f.output, f.name, built); err != nil {
			return err
		}
	}
	if f.push != "" {
		if err := image.Push(c.Context(), f.push, built); err != nil {
			return err
		}
	}
	proxies := tool.Names(o.Tools)
	if len(proxies) == 0 {
		proxies = []string{"none"}
	}
	fmt.Fprintf(c.ErrOrStderr(), "rpclab: built an image for %s; proxies: %s\n", o.Platform, strings.Join(proxies, ", "))
	fmt.Fprintln(c.OutOrStdout(), cmp.Or(f.push, f.name)) // pods need that of the registry
	return nil
}

// programs builds the programs of the requested languages.
func (f imageFlags) programs(c *cobra.Command, platform v1.Platform) ([]image.Programs, error) {
	var languages []language.Language
	for _, name := range unique(f.languages) {
		l, err := language.Lookup(name)
		if err == nil && l.Name == language.Go {
			err = errors.New("rpclab itself has the servers and callers in go")
		}
		if err != nil {
			return nil, usageError{fmt.Errorf("--languages: %w", err)}
		}
		languages = append(languages, l)
	}
	built, missing, err := buildPrograms(c.Context(), languages, platform, func(text string) { fmt.Fprintln(c.ErrOrStderr(), text) })
	for _, l := range languages {
		if why := missing[l.Name]; why != "" {
			err = errors.Join(err, errors.New(why))
		}
	}
	return built, err
}

// tools are the requested proxies, or all installed proxies that run on the platform.
func (f imageFlags) tools(c *cobra.Command, o image.Options) (all []tool.Tool, err error) {
	if c.Flags().Changed("with") {
		for _, name := range unique(f.with) {
			t, err := tool.Lookup(name)
			if err != nil {
				return nil, usageError{fmt.Errorf("--with: %w", err)}
			}
			all = append(all, t)
		}
		return all, nil
	}
	for _, t := range tool.All() {
		if _, err := t.Find(); err == nil && image.RunsOnThisMachine(o.Platform) {
			all = append(all, t)
		}
	}
	return all, nil
}

// unique returns names in order, each once: twice the same layer would change the name of an image.
func unique(names []string) []string { return slices.Compact(slices.Sorted(slices.Values(names))) }
