package main

import (
	"cmp"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"rpclab/internal/result"
	"rpclab/internal/version"
)

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version, commit, Go version and result schema",
		Example: "  rpclab version",
		Args:    noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			_, err := io.WriteString(c.OutOrStdout(), describeBuild(version.Current()))
			return err
		},
	}
}

// describeBuild describes a build, one line for each property.
func describeBuild(build version.Build) string {
	const unknown = "not known"
	number := build.Version
	if build.IsDevelopment() {
		number = "development build"
	}
	commit := cmp.Or(build.Commit, unknown)
	if build.Time != "" {
		commit += ", " + build.Time
	}
	if build.Changed {
		commit += ", with uncommitted changes"
	}
	return fmt.Sprintf("rpclab %s\ncommit %s\nGo %s\nresult schema %s\n",
		cmp.Or(number, unknown), commit, cmp.Or(build.Go, unknown), result.Schema)
}
