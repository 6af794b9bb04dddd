package conformance

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// built makes the server of a language, unless it is made already, and returns the
// arguments that run it.
func built(t *testing.T, language string) []string {
	t.Helper()
	build := exec.CommandContext(t.Context(), "../../servers/build.sh", language)
	build.Stderr = os.Stderr
	out, err := build.Output()
	if err != nil {
		t.Fatalf("servers/build.sh %s: %v", language, err)
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

// languages are those of the directory servers.
var languages = []string{"rust"}

func TestGreetersInOtherLanguagesAnswerEveryCallRight(t *testing.T) {
	for _, language := range languages {
		t.Run(language, func(t *testing.T) {
			addr := free(t)
			start(t, addr, append(built(t, language), "--listen", addr, "--id", language+"-1")...)
			answered(t, load(t, addr, greet()), []string{language + "-1"})
		})
	}
}
