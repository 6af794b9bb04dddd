package main

import (
	"bytes"
	"crypto/sha256"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/CycloneDX/cyclonedx-go"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// soak releases all platforms, twice (make soak).
var soak = flag.Bool("soak", false, "release all platforms")

// largest is the size that a program may not exceed, in bytes: docs/decisions/0044-size.md.
const largest = 56e6

// wantedPlatforms is this machine's platform, or all with -soak: packages for another take minutes to compile.
func wantedPlatforms() []string {
	if *soak {
		return platforms
	}
	return []string{runtime.GOOS + "/" + runtime.GOARCH}
}

// TestRelease releases this machine's platform twice, compares the files, and installs them where there is neither Go nor a
// source tree. That needs root.
func TestRelease(t *testing.T) {
	wanted := wantedPlatforms()
	dist := filepath.Join(t.TempDir(), "dist")
	if err := release(t.Context(), "../..", dist, "", wanted); err != nil {
		t.Fatal(err)
	}
	again := filepath.Join(t.TempDir(), "dist")
	if err := release(t.Context(), "../..", again, "", wanted); err != nil {
		t.Fatal(err)
	}
	same(t, dist, again)
	verify := exec.CommandContext(t.Context(), "sha256sum", "--check", "--strict", "SHA256SUMS")
	verify.Dir = dist
	if out, err := verify.CombinedOutput(); err != nil {
		t.Errorf("sha256sum: %v\n%s", err, out)
	}
	for _, platform := range wanted {
		for _, ending := range []string{".tar.gz", ".deb", ".rpm", "_image.tar"} {
			if strings.HasPrefix(platform, "linux/") || ending == ".tar.gz" {
				only(t, dist, "rpclab_*_"+strings.ReplaceAll(platform, "/", "_")+ending)
			}
		}
	}
	only(t, dist, "rpclab_*_chart.tgz")
	only(t, dist, "rpclab_*_krew.yaml")
	t.Run("archive", func(t *testing.T) {
		root := t.TempDir()
		unpack(t, only(t, dist, "*_"+runtime.GOOS+"_"+runtime.GOARCH+".tar.gz"), root)
		works(t, root, "/rpclab", "/man/man1", "/completions/rpclab.bash")
		licensed(t, root)
	})
	forArchive, forPackages, forImage := commandsOf(t, "../../docs/install.md", "tested by TestRelease")
	t.Run("commands for the archive", func(t *testing.T) {
		downloads, home := t.TempDir(), t.TempDir()
		for _, file := range []string{only(t, dist, "*_"+runtime.GOOS+"_"+runtime.GOARCH+".tar.gz"), filepath.Join(dist, "SHA256SUMS")} {
			if err := os.Link(file, filepath.Join(downloads, filepath.Base(file))); err != nil {
				t.Fatal(err)
			}
		}
		shell := exec.CommandContext(t.Context(), "bash", "-exc", forArchive+"declare -F __start_rpclab\ncommand -v rpclab")
		shell.Dir, shell.Env = downloads, []string{"PATH=/usr/bin:/bin:/usr/sbin:/sbin", "HOME=" + home}
		out, err := shell.CombinedOutput()
		for _, want := range []string{".tar.gz: OK", "result schema rpclab.result/v1", home + "/.local/bin/rpclab\n"} {
			if err != nil || !strings.Contains(string(out), want) {
				t.Errorf("%v, want %q in\n%s", err, want, out)
			}
		}
	})
	for command := range strings.Lines(forPackages) {
		t.Run(strings.Fields(command)[1], func(t *testing.T) {
			root := t.TempDir()
			install(t, command, dist, root)
			works(t, root, "/usr/bin/rpclab", "/usr/share/man/man1", "/usr/share/bash-completion/completions/rpclab")
		})
	}
	t.Run("image", func(t *testing.T) {
		root := t.TempDir()
		runs(t, root, unpackImage(t, only(t, dist, "*_"+runtime.GOARCH+"_image.tar"), root))
		licensed(t, filepath.Join(root, "usr/share/doc/rpclab"))
	})
	t.Run("docker", func(t *testing.T) {
		name := filepath.Base(only(t, dist, "*_"+runtime.GOARCH+"_image.tar"))
		tag := imageTag(strings.Split(name, "_")[1])
		if said := install(t, strings.ReplaceAll(forImage, "VERSION", tag), dist, t.TempDir()); !strings.Contains(said, "rpclab report ") {
			t.Errorf("the container did not run an experiment:\n%s", said)
		}
	})
	t.Run("bill of materials", func(t *testing.T) { lists(t, only(t, dist, "*.cdx.json"), wanted) })
}

// commandsOf returns the commands of a page that a note marks: for an archive, for each package and for an image, of this
// machine's platform.
func commandsOf(t *testing.T, name, note string) (archive, packages, image string) {
	t.Helper()
	page, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)<!-- "+note+" -->\n```sh\n(.*?)```").FindAllSubmatch(page, -1)
	if len(blocks) != 3 {
		t.Fatalf("%s has %d blocks that are %s, want 3", name, len(blocks), note)
	}
	here := strings.NewReplacer("linux_amd64", runtime.GOOS+"_"+runtime.GOARCH)
	return here.Replace(string(blocks[0][1])), here.Replace(string(blocks[1][1])), here.Replace(string(blocks[2][1]))
}

// A program for one platform may be larger than for another.
func TestNoProgramIsTooLarge(t *testing.T) {
	b := builder{root: "../..", work: t.TempDir()}
	for _, platform := range wantedPlatforms() {
		p, err := b.build(t.Context(), platform)
		if err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(p.path)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %.1f MB", platform, float64(info.Size())/1e6)
		if most := int64(largest); info.Size() > most {
			t.Errorf("the program for %s has %d bytes, want at most %d", platform, info.Size(), most)
		}
	}
}

// An archive and a package have the texts to which their notice refers.
func TestLicencesAreInArchiveAndPackage(t *testing.T) {
	documents, err := read("../..", licences...)
	if err != nil {
		t.Fatal(err)
	}
	built := program{path: "main.go", time: time.Unix(0, 0)}
	file, root := filepath.Join(t.TempDir(), "rpclab_1_linux_amd64.tar.gz"), t.TempDir()
	if err := writeArchive(file, built, documents); err != nil {
		t.Fatal(err)
	}
	unpack(t, file, root)
	licensed(t, root)
	dir := t.TempDir()
	if _, err := installed(dir, built, documents, "/zsh"); err != nil {
		t.Fatal(err)
	}
	licensed(t, filepath.Join(dir, "usr/share/doc/rpclab"))
}

// licensed fails unless a directory has the files to which its NOTICE and THIRD_PARTY.md refer.
func licensed(t *testing.T, dir string) {
	t.Helper()
	for _, name := range []string{"NOTICE", "THIRD_PARTY.md"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		head, _, _ := strings.Cut(string(text), "\n| ") // below are texts of others
		referred := regexp.MustCompile(`[\w/]+\.md`).FindAllString(head, -1)
		if len(referred) == 0 {
			t.Errorf("%s refers to no file", name)
		}
		for _, file := range referred {
			if _, err := os.Stat(filepath.Join(dir, file)); err != nil {
				t.Errorf("%s refers to %s: %v", name, file, err)
			}
		}
	}
}

// A user may unpack an archive in the directory of a release. What no release can replace fails before it removes a file.
func TestAReleaseKeepsDirectories(t *testing.T) {
	dist, made := t.TempDir(), t.TempDir()
	for _, name := range []string{"SHA256SUMS", "rpclab_1.cdx.json", "rpclab_1_linux_amd64/rpclab"} {
		entry{[]byte("old"), 0o644}.write(t, filepath.Join(dist, name))
	}
	for _, name := range []string{"SHA256SUMS", "rpclab_2.cdx.json"} {
		entry{[]byte("new"), 0o644}.write(t, filepath.Join(made, name))
	}
	check := func(want ...string) {
		t.Helper()
		left, err := os.ReadDir(dist)
		var names []string
		for _, file := range left {
			names = append(names, file.Name())
		}
		if err != nil || !slices.Equal(names, want) {
			t.Errorf("the directory has %q (%v), want %q", names, err, want)
		}
	}
	if err := os.Mkdir(filepath.Join(dist, "rpclab_2.cdx.json"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := publish(made, dist); err == nil || !strings.Contains(err.Error(), "rpclab_2.cdx.json: the path is not a regular file; move it") {
		t.Errorf("a directory in place of a file: %v", err)
	}
	check("SHA256SUMS", "rpclab_1.cdx.json", "rpclab_1_linux_amd64", "rpclab_2.cdx.json")
	if err := os.Remove(filepath.Join(dist, "rpclab_2.cdx.json")); err != nil {
		t.Fatal(err)
	}
	if err := publish(made, dist); err != nil {
		t.Error(err)
	}
	check("SHA256SUMS", "rpclab_1_linux_amd64", "rpclab_2.cdx.json")
}

// A release replaces the files of an earlier one, if it succeeds, and nothing else.
func TestAReleaseKeepsOtherFiles(t *testing.T) {
	files := func(dir string) (all []string) {
		err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && !entry.IsDir() {
				name, _ := filepath.Rel(dir, path)
				all = append(all, name)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	write := func(dir string, names ...string) {
		for _, name := range names {
			entry{[]byte("text"), 0o644}.write(t, filepath.Join(dir, name))
		}
	}
	dist, made := t.TempDir(), t.TempDir()
	write(dist, "SHA256SUMS", "rpclab_0_linux_amd64.deb", "site/rpclab_/index.html")
	before := files(dist)
	if err := release(t.Context(), t.TempDir(), dist, "", platforms); err == nil {
		t.Error("released a directory without sources")
	}
	if after := files(dist); !slices.Equal(after, before) {
		t.Errorf("after a release that failed there are %v, want %v", after, before)
	}
	write(made, "SHA256SUMS", "rpclab_1_linux_amd64.deb")
	if err := publish(made, dist); err != nil {
		t.Fatal(err)
	}
	if after, want := files(dist), []string{"SHA256SUMS", "rpclab_1_linux_amd64.deb", "site/rpclab_/index.html"}; !slices.Equal(after, want) {
		t.Errorf("after a release there are %v, want %v", after, want)
	}
}

// same fails unless two directories have the same files.
func same(t *testing.T, a, b string) {
	t.Helper()
	sums := func(dir string) (all []string) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, entry := range entries {
			text, err := os.ReadFile(filepath.Join(dir, entry.Name()))
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, fmt.Sprintf("%s %x", entry.Name(), sha256.Sum256(text)))
		}
		return all
	}
	if first, second := sums(a), sums(b); !slices.Equal(first, second) {
		t.Errorf("two releases differ:\n%s\n\n%s", strings.Join(first, "\n"), strings.Join(second, "\n"))
	}
}

// only returns the one file of a directory that matches.
func only(t *testing.T, dir, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil || len(found) != 1 {
		entries, _ := os.ReadDir(dir)
		t.Fatalf("%d files match %s (error %v), want 1 of %v", len(found), pattern, err, entries)
	}
	return found[0]
}

// works runs the program of a root directory in it, and reads its man page and completion.
func works(t *testing.T, root, program, pages, completion string) {
	t.Helper()
	runs(t, root, program)
	page := only(t, filepath.Join(root, pages), "rpclab-run.1*")
	shown, err := exec.CommandContext(t.Context(), "sh", "-c", `zcat -f "$0" | grep -A1 '^.SH NAME'`, page).CombinedOutput()
	if err != nil || !strings.Contains(string(shown), "rpclab-run - ") {
		t.Errorf("%s: %v\n%s", page, err, shown)
	}
	complete := exec.CommandContext(t.Context(), "bash", "-c", `PATH="$1:$PATH"; . "$0" && declare -F __start_rpclab`, filepath.Join(root, completion), filepath.Join(root, filepath.Dir(program)))
	if out, err := complete.CombinedOutput(); err != nil {
		t.Errorf("%s: %v\n%s", completion, err, out)
	}
}

// runs runs the program of a root directory in it.
func runs(t *testing.T, root, program string) {
	t.Helper()
	for _, dir := range []string{"proc", "dev", "tmp"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	for _, try := range []struct {
		says string
		args []string
	}{
		{"result schema rpclab.result/v1", []string{"version"}},
		{"--rounds", []string{"run", "--help"}},
		{"channels", []string{"__complete", "run", ""}},
		{"local", []string{"doctor"}},
		// The report has no template that calls a method, which a released program cannot.
		{"rpclab report", []string{"run", "channels", "--quick", "--rounds", "1", "--html", "/tmp/report.html"}},
		{"", []string{"report", "latest", "--md", "/tmp/report.md"}},
	} {
		in := []string{"--mount", "--", "sh", "-ec", `mount --bind /proc "$0/proc" && mount --rbind /dev "$0/dev" && exec chroot "$0" "$@"`, root, program}
		command := exec.CommandContext(t.Context(), "unshare", append(in, try.args...)...)
		command.Env = []string{"PATH=/usr/bin:/bin:/usr/sbin:/sbin", "HOME=/tmp", "RPCLAB_MACHINE_LOCK=off"}
		if out, err := command.CombinedOutput(); err != nil || !strings.Contains(string(out), try.says) {
			t.Errorf("rpclab %s: %v, want %q in the output:\n%s", strings.Join(try.args, " "), err, try.says, out)
		}
	}
	if text, err := os.ReadFile(filepath.Join(root, "tmp", "report.html")); err != nil || !bytes.Contains(text, []byte("</html>")) {
		t.Errorf("the HTML report has %d bytes without its end (error %v)", len(text), err)
	}
}

// lists compares a bill of materials with the modules of go list.
func lists(t *testing.T, file string, wanted []string) {
	t.Helper()
	text, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer text.Close()
	var bom cyclonedx.BOM
	if err := cyclonedx.NewBOMDecoder(text, cyclonedx.BOMFileFormatJSON).Decode(&bom); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range *bom.Components {
		if c.Licenses == nil || (*c.Licenses)[0].Expression == "" {
			t.Errorf("%s has no licence", c.PackageURL)
		}
		if strings.HasPrefix(c.PackageURL, "pkg:golang/") && c.Name != "std" {
			got = append(got, c.Name+" "+c.Version)
		}
	}
	var want []string
	for _, platform := range wanted {
		system, arch, _ := strings.Cut(platform, "/")
		list := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}{{end}}{{end}}", "./cmd/rpclab")
		list.Dir, list.Env = "../..", append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+arch)
		out, err := list.Output()
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, strings.FieldsFunc(string(out), func(r rune) bool { return r == '\n' })...)
	}
	slices.Sort(got)
	slices.Sort(want)
	if want = slices.Compact(want); !slices.Equal(got, want) {
		t.Errorf("the bill of materials lists\n%s\nand go list\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
