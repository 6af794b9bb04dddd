package version

import (
	"runtime/debug"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestReadReturnsWhatGoRecorded(t *testing.T) {
	got := read(&debug.BuildInfo{GoVersion: "go1.26.0", Main: debug.Module{Version: "(devel)"}, Settings: []debug.BuildSetting{
		{Key: "vcs.revision", Value: "5a7f665"}, {Key: "vcs.time", Value: "2026-11-22T20:00:00Z"}, {Key: "vcs.modified", Value: "true"}}})
	want := Build{Version: "devel", Commit: "5a7f665", Time: "2026-11-22T20:00:00Z", Changed: true, Go: "1.26.0"}
	if got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := read(&debug.BuildInfo{}); got != (Build{}) {
		t.Errorf("%+v of an empty record", got)
	}
}

func TestStringIsTheVersionOrTheCommit(t *testing.T) {
	const commit = "0123456789abcdef0123"
	for want, build := range map[string]Build{
		"v1.2.0":        {Version: "v1.2.0", Commit: commit},
		"0123456789ab":  {Version: "devel", Commit: commit},
		"0123456789ab+": {Commit: commit, Changed: true},
		"":              {Version: "devel", Changed: true},
	} {
		if got := build.String(); got != want {
			t.Errorf("%+v: %q, want %q", build, got, want)
		}
	}
}

func TestOnlyATaggedVersionIsARelease(t *testing.T) {
	for version, want := range map[string]bool{
		"v1.2.0": true, "v1.2.0-rc.1": false, "v1.2.0+dirty": false, "v0.0.0-20261123015654-0123456789ab": false, "devel": false, "": false,
	} {
		if got := (Build{Version: version}).IsRelease(); got != want {
			t.Errorf("%q is a release: %v, want %v", version, got, want)
		}
	}
}
