package language_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestJavaIsNotBuiltFromChangedFiles puts a program in the place of Maven that fetches one file.
func TestJavaIsNotBuiltFromChangedFiles(t *testing.T) {
	const plugin = "kr/motd/maven/os-maven-plugin/1.7.1/os-maven-plugin-1.7.1.pom"
	for name, c := range map[string]struct{ file, says string }{
		"changed plugin": {plugin, plugin + " is not as in servers/java/checksums.sha256"},
		"other protoc":   {"com/google/protobuf/protoc/1/protoc-1-linux-x86_64.exe", "protoc-1-linux-x86_64.exe is not as in"},
		"other library":  {"a/b/1/b-1.jar", "b-1.jar is not as in"},
		"no such file":   {"a/b/1/_remote.repositories", ""},
	} {
		t.Run(name, func(t *testing.T) {
			bin, out, fetched := t.TempDir(), t.TempDir(), t.TempDir()
			maven := "#!/bin/sh\nmkdir -p \"$LIBRARIES\" \"$(dirname \"$FILE\")\"\necho changed >\"$FILE\"\n"
			if err := os.WriteFile(filepath.Join(bin, "mvn"), []byte(maven), 0o700); err != nil {
				t.Fatal(err)
			}
			build := exec.CommandContext(t.Context(), "sh", "../../servers/java/build.sh", out, fetched)
			build.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "FILE="+filepath.Join(fetched, c.file), "LIBRARIES="+filepath.Join(out, "lib"))
			said, err := build.CombinedOutput()
			if (err != nil) != (c.says != "") || !strings.Contains(string(said), c.says) {
				t.Errorf("the build ended with %v and says %q, want %q", err, said, c.says)
			}
		})
	}
}
