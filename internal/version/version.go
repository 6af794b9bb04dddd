// Package version says which build of rpclab this is.
package version

import (
	"regexp"
	"runtime/debug"
	"strings"
)

// Build is what Go recorded of a build. A field is empty if Go did not record it: go run and go build
// -buildvcs=false record no commit.
type Build struct {
	Version string // of the module: v1.2.3, a pseudo-version, or devel
	Commit  string // in full
	Time    string // of the commit, RFC 3339
	Changed bool   // files differed from the commit
	Go      string // 1.26.0
}

// Current describes the running program.
func Current() Build {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return Build{}
	}
	return read(info)
}

func read(info *debug.BuildInfo) Build {
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	return Build{
		Version: strings.Trim(info.Main.Version, "()"), Commit: settings["vcs.revision"], Time: settings["vcs.time"],
		Changed: settings["vcs.modified"] == "true", Go: strings.TrimPrefix(info.GoVersion, "go"),
	}
}

// IsDevelopment reports whether the module had no version.
func (b Build) IsDevelopment() bool { return b.Version == "devel" }

var release = regexp.MustCompile(`^v\d+\.\d+\.\d+$`)

// IsRelease reports whether the build is of a tagged release, whose version identifies one state of
// the source.
func (b Build) IsRelease() bool { return release.MatchString(b.Version) }

// String returns the version, else the first 12 digits of the commit, with + if files were changed; ""
// if neither was recorded.
func (b Build) String() string {
	if b.Version != "" && !b.IsDevelopment() {
		return b.Version
	}
	commit := b.Commit[:min(len(b.Commit), 12)]
	if commit != "" && b.Changed {
		commit += "+"
	}
	return commit
}
