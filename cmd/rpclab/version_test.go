package main

import (
	"strings"
	"testing"

	"rpclab/internal/result"
	"rpclab/internal/version"
)

func TestDescribeBuild(t *testing.T) {
	for name, tc := range map[string]struct {
		build version.Build
		want  string
	}{
		"a release": {
			version.Build{Version: "v1.2.3", Commit: "5a7f665", Time: "2026-11-22T20:00:00Z", Go: "1.26.0"},
			"rpclab v1.2.3\ncommit 5a7f665, 2026-11-22T20:00:00Z\nGo 1.26.0\n",
		},
		"a changed checkout": {
			version.Build{Version: "devel", Commit: "5a7f665", Changed: true, Go: "1.26.0"},
			"rpclab development build\ncommit 5a7f665, with uncommitted changes\nGo 1.26.0\n",
		},
		"nothing recorded": {version.Build{}, "rpclab not known\ncommit not known\nGo not known\n"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := describeBuild(tc.build); got != tc.want+"result schema "+result.Schema+"\n" {
				t.Errorf("%s\nwant %s", got, tc.want)
			}
		})
	}
}

func TestVersionFlagAndCommandAgree(t *testing.T) {
	var outputs []string
	for _, arg := range []string{"version", "--version"} {
		outputs = append(outputs, runRoot(t, arg))
	}
	if outputs[0] == "" || outputs[0] != outputs[1] {
		t.Errorf("rpclab version prints %q, rpclab --version %q", outputs[0], outputs[1])
	}
}

// runRoot runs the command line in this process and returns its standard output.
func runRoot(t *testing.T, args ...string) string {
	t.Helper()
	command := root()
	var out strings.Builder
	command.SetOut(&out)
	command.SetArgs(args)
	if err := command.Execute(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}
