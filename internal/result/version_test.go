package result

import (
	"runtime/debug"
	"testing"
)

func TestVersionIsTheReleaseOrTheCommit(t *testing.T) {
	commit := []debug.BuildSetting{{Key: "vcs.revision", Value: "0123456789abcdef0123"}}
	changed := append(commit, debug.BuildSetting{Key: "vcs.modified", Value: "true"})
	for want, info := range map[string]debug.BuildInfo{
		"v1.2.0":        {Main: debug.Module{Version: "v1.2.0"}, Settings: commit},
		"0123456789ab":  {Main: debug.Module{Version: "(devel)"}, Settings: commit},
		"0123456789ab+": {Settings: changed},
		"":              {Main: debug.Module{Version: "(devel)"}},
	} {
		if got := versionOf(info); got != want {
			t.Errorf("%+v: %q, want %q", info, got, want)
		}
	}
}
