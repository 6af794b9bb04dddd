package conformance

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"rpclab/internal/testkit"
)

// languages are those of the directory servers.
var languages = []string{"rust", "java"}

func TestGreetersAnswerEveryCallRight(t *testing.T) {
	eachLanguage(t, func(t *testing.T, command []string) {
		addr := free(t)
		start(t, addr, append(command, "--listen", addr, "--id", "b1")...)
		answered(t, load(t, addr, greet()), []string{"b1"})
	})
}

// eachLanguage tests every server that the contract binds, our own among them.
func eachLanguage(t *testing.T, test func(t *testing.T, command []string)) {
	t.Run("go", func(t *testing.T) { test(t, []string{testkit.Rpclab(t), "server"}) })
	for _, language := range languages {
		t.Run(language, func(t *testing.T) { test(t, built(t, language)) })
	}
}

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
