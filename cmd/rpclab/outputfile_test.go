//go:build unix

package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func writes(text string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	}
}

func checkText(t *testing.T, path, want string) {
	t.Helper()
	if text, err := os.ReadFile(path); err != nil || string(text) != want {
		t.Errorf("%s has %q (%v), want %q", path, text, err, want)
	}
}

func TestAnOutputFileBehindALinkIsWrittenAndTheLinkStays(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	target := filepath.Join(other, "run.json")
	link, relative := filepath.Join(dir, "latest.json"), filepath.Join(other, "link.json")
	if err := os.Symlink("run.json", relative); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(relative, link); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"created", "replaced"} {
		if err := (outputs{json: link}).check(); err != nil {
			t.Fatal(err)
		}
		if err := writeFile(link, writes(text)); err != nil {
			t.Fatal(err)
		}
		checkText(t, target, text)
		for _, path := range []string{link, relative} {
			if _, err := os.Readlink(path); err != nil {
				t.Errorf("the link is gone: %v", err)
			}
		}
	}
}

// Standard output is a file in CI: >> "$GITHUB_STEP_SUMMARY".
func TestAnOutputToADescriptorFollowsWhatItHas(t *testing.T) {
	dir := t.TempDir()
	file, err := os.Create(filepath.Join(dir, "out.txt"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	before := os.Stdout
	os.Stdout = file
	defer func() { os.Stdout = before }()
	link := filepath.Join(dir, "stdout") // a test that fails must not replace the machine's
	if err := os.Symlink("/dev/stdout", link); err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(file, "report, ")
	for _, path := range []string{link, fmt.Sprintf("/dev/fd/%d", file.Fd())} {
		if err := (outputs{md: path}).check(); err != nil {
			t.Fatal(err)
		}
	}
	if err := writeFile(link, writes("summary, ")); err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(file, "end, ")
	if err := writeFile(fmt.Sprintf("/dev/fd/%d", file.Fd()), writes("appended")); err != nil {
		t.Fatal(err)
	}
	checkText(t, file.Name(), "report, summary, end, appended")
}

func TestAnOutputFileKeepsItsModeAndANewOneFollowsTheMask(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o027))
	dir := t.TempDir()
	private := filepath.Join(dir, "private.json")
	if err := os.WriteFile(private, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]os.FileMode{private: 0o600, filepath.Join(dir, "new.json"): 0o640} {
		if err := writeFile(path, writes("new")); err != nil {
			t.Fatal(err)
		}
		checkText(t, path, "new")
		if info, err := os.Stat(path); err != nil || info.Mode() != want {
			t.Errorf("%s has the mode %v (%v), want %v", path, info.Mode(), err, want)
		}
	}
	if left, err := filepath.Glob(filepath.Join(dir, ".rpclab-*")); err != nil || len(left) > 0 {
		t.Errorf("temporary files are left: %q, %v", left, err)
	}
}
