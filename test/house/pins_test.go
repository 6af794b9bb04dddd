package house

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// tracked returns the text of each file of the repository that matches a pattern of git.
func tracked(t *testing.T, patterns ...string) map[string]string {
	t.Helper()
	listed, err := exec.Command("git", append([]string{"-C", root, "ls-files", "-z", "--"}, patterns...)...).Output()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for name := range strings.SplitSeq(strings.Trim(string(listed), "\x00"), "\x00") {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		all[name] = string(text)
	}
	return all
}

// pinned are, for each command that fetches software, what must be in the same statement. apt verifies
// Debian packages by the keys of the distribution; go verifies modules by go.sum.
var pinned = []struct {
	fetches *regexp.Regexp
	needs   string
}{
	{regexp.MustCompile(`\bpip3?"? install\b|"install", "--quiet"`), "--require-hashes"},
	{regexp.MustCompile(`\bcargo (build|clippy|install|fetch)\b`), "--locked"},
	{regexp.MustCompile(`\bmvn --`), "\nverify "},
	{regexp.MustCompile(`\bnpm (install|i|add)\b|npm, "(install|i|add)"`), "npm ci"},
	{regexp.MustCompile(`\b(curl|wget)\b[^|\n]*https?://[\w-]+\.[\w.-]*[a-z]`), "sha256sum"},
	{regexp.MustCompile(`\bgo (install|run) \S+@(latest|main|master)\b`), "a version"},
	{regexp.MustCompile(`GONOSUMDB|GONOSUMCHECK|GOINSECURE|GOFLAGS=-mod=mod|--trusted-host|--no-verify`), "no such setting"},
}

// TestDownloadsArePinned reads the code that installs and builds software. A statement ends where a
// line does not continue and the next is not a check.
func TestDownloadsArePinned(t *testing.T) {
	found := map[string]bool{}
	for name, text := range tracked(t, "servers/*build.sh", "*Dockerfile", "Makefile", "test/*.sh", "internal/tool/*.go", "internal/language/*.go", "cmd/rpclab/*.go", "web/bundle/*.go") {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		lines := strings.Split(text, "\n")
		for i, line := range lines {
			if comment := strings.TrimSpace(line); strings.HasPrefix(comment, "#") || strings.HasPrefix(comment, "//") {
				continue
			}
			for _, rule := range pinned {
				if !rule.fetches.MatchString(line) {
					continue
				}
				found[rule.needs] = true
				if statement := strings.Join(lines[i:min(i+2, len(lines))], "\n"); !strings.Contains(statement, rule.needs) {
					t.Errorf("%s:%d: %s fetches software that nothing pins by its content: needs %s", name, i+1, strings.TrimSpace(line), rule.needs)
				}
			}
		}
	}
	for _, expected := range []string{"--require-hashes", "--locked", "\nverify "} {
		if !found[expected] {
			t.Errorf("no statement needs %s, so the rules were not checked", expected)
		}
	}
}

func TestBaseImagesArePinned(t *testing.T) {
	from := regexp.MustCompile(`(?m)^FROM (\S+)(?: AS (\S+))?`)
	images := 0
	for name, text := range tracked(t, "*Dockerfile") {
		stages := map[string]bool{"scratch": true}
		for _, found := range from.FindAllStringSubmatch(text, -1) {
			if !stages[found[1]] && !regexp.MustCompile(`@sha256:[0-9a-f]{64}$`).MatchString(found[1]) {
				t.Errorf("%s: the image %s has no digest", name, found[1])
			}
			stages[found[2]] = true
			images++
		}
	}
	if images < 8 {
		t.Errorf("only %d images were found, so the rule was not checked", images)
	}
}

func TestRequirementsHaveHashes(t *testing.T) {
	hash := regexp.MustCompile(`--hash=sha256:[0-9a-f]{64}\b`)
	files := 0
	for name, text := range tracked(t, "internal/tool/*.txt", "servers/python/requirements.txt", "servers/java/runtime.txt", "test/*.txt") {
		if strings.Contains(name, "testdata") {
			continue
		}
		files++
		for requirement := range strings.SplitSeq(strings.ReplaceAll(text, "\\\n", " "), "\n") {
			if requirement = strings.TrimSpace(requirement); requirement != "" && requirement[0] != '#' && !hash.MatchString(requirement) {
				t.Errorf("%s: %s has no hash", name, requirement)
			}
		}
	}
	if files < 5 {
		t.Errorf("only %d files were found, so the rule was not checked", files)
	}
}

func TestLockFilesHaveChecksums(t *testing.T) {
	for name, text := range tracked(t, "*package-lock.json") {
		var lock struct {
			Packages map[string]struct {
				Link      bool
				Integrity string
			}
		}
		if err := json.Unmarshal([]byte(text), &lock); err != nil {
			t.Fatal(err)
		}
		for path, p := range lock.Packages {
			if path != "" && !p.Link && p.Integrity == "" {
				t.Errorf("%s: %s has no integrity", name, path)
			}
		}
		if len(lock.Packages) < 2 {
			t.Errorf("%s has no packages, so the rule was not checked", name)
		}
	}
	for name, text := range tracked(t, "*Cargo.lock") {
		for block := range strings.SplitSeq(text, "[[package]]") {
			if strings.Contains(block, "\nsource = ") && !regexp.MustCompile(`\nchecksum = "[0-9a-f]{64}"`).MatchString(block) {
				t.Errorf("%s: a package has no checksum:\n%s", name, block)
			}
		}
	}
	for name, text := range tracked(t, "servers/java/checksums.sha256") {
		for line := range strings.Lines(text) {
			if !regexp.MustCompile(`^[0-9a-f]{64}  \S+\.(jar|pom|exe)\n$`).MatchString(line) {
				t.Errorf("%s: %q is no checksum of a file that Maven fetches", name, line)
			}
		}
	}
	for name, text := range tracked(t, "go.sum") {
		if !strings.Contains(text, " h1:") {
			t.Errorf("%s has no checksums", name)
		}
	}
}
