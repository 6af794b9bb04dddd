package result

import (
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"
)

func TestDataDirFollowsTheEnvironment(t *testing.T) {
	for _, c := range []struct {
		name, system string
		env          map[string]string
		want         string
	}{
		{"RPCLAB_DATA_DIR first", "linux", map[string]string{"RPCLAB_DATA_DIR": "/d", "XDG_DATA_HOME": "/x"}, "/d"},
		{"then XDG_DATA_HOME", "linux", map[string]string{"XDG_DATA_HOME": "/x"}, "/x/rpclab"},
		{"XDG_DATA_HOME must be absolute", "linux", map[string]string{"XDG_DATA_HOME": "x"}, "/home/ann/.local/share/rpclab"},
		{"then the home directory", "linux", nil, "/home/ann/.local/share/rpclab"},
		{"macOS", "darwin", nil, "/home/ann/Library/Application Support/rpclab"},
	} {
		got, err := dataDir(c.system, func(k string) string { return c.env[k] }, func() (string, error) { return "/home/ann", nil })
		if err != nil || got != c.want {
			t.Errorf("%s: %q, %v, want %q", c.name, got, err, c.want)
		}
	}
	_, err := dataDir("linux", func(string) string { return "" }, func() (string, error) { return "", errors.New("none") })
	if err == nil || !strings.Contains(err.Error(), "RPCLAB_DATA_DIR") {
		t.Errorf("without a home: %v", err)
	}
}

func TestRunIDsSortByTime(t *testing.T) {
	zone := time.FixedZone("east", 3600)
	early, late := NewID(start), NewID(start.In(zone).Add(time.Second))
	if !regexp.MustCompile(`^20261120-184512-[a-z2-7]{4}$`).MatchString(early) {
		t.Errorf("id %q", early)
	}
	if early >= late {
		t.Errorf("%s is not before %s", early, late)
	}
}
