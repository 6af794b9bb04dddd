package main

import (
	"cmp"
	"fmt"
	"io"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"rpclab/internal/result"
)

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version, commit, Go version and result schema",
		Example: "  rpclab version",
		Args:    noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			_, err := io.WriteString(c.OutOrStdout(), version())
			return err
		},
	}
}

// version describes this binary, one line for each property.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	return describeBuild(info)
}

// describeBuild says "not known" for what the build did not record: go run and go build
// -buildvcs=false record no commit.
func describeBuild(info *debug.BuildInfo) string {
	const unknown = "not known"
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	number := strings.Trim(info.Main.Version, "()")
	if number == "devel" {
		number = "development build"
	}
	commit := cmp.Or(settings["vcs.revision"], unknown)
	if at := settings["vcs.time"]; at != "" {
		commit += ", " + at
	}
	if settings["vcs.modified"] == "true" {
		commit += ", with uncommitted changes"
	}
	return fmt.Sprintf("rpclab %s\ncommit %s\nGo %s\nresult schema %s\n",
		cmp.Or(number, unknown), commit, cmp.Or(strings.TrimPrefix(info.GoVersion, "go"), unknown), result.Schema)
}
