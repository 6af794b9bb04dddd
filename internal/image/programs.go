package image

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"rpclab/internal/language"
)

// Programs are the built servers and callers of a language.
type Programs struct {
	Language string
	Command  []string // that runs the server on this machine, as [language.Language.Build] returns it
}

// packers add the files of a language to its tree, except libraries, and return the command in the image.
var packers = map[string]func(tree, Programs) ([]string, error){
	"python": packPython, "rust": packRust, "java": packJava,
}

// tree is the files of a language's layer.
type tree struct {
	root  string          // the language's directory in the image: /opt/rpclab/python
	files map[string]file // by path in the image
}

// languageLayer is a layer with the programs of a language, the interpreter or virtual machine that runs them, and
// libraries. Files that the image has already are left out.
func languageLayer(have map[string]bool, p Programs) (contents, error) {
	pack, ok := packers[p.Language]
	if !ok {
		return contents{}, fmt.Errorf("images have no programs in %s", p.Language)
	}
	t := tree{root: path.Join(language.ImageDir, p.Language), files: map[string]file{}}
	command, err := pack(t, p)
	if err != nil {
		return contents{}, fmt.Errorf("pack the programs in %s: %w", p.Language, err)
	}
	t.files[path.Join(t.root, "command")] = file{mode: 0o644, text: strings.Join(command, "\n") + "\n"}
	libraries, err := t.libraries(command[0])
	if err != nil {
		return contents{}, fmt.Errorf("find the libraries of %s: %w", command[0], err)
	}
	for at, source := range libraries {
		if !have[at] {
			have[at] = true
			t.files[at] = file{mode: 0o755, from: source}
		}
	}
	return contents{what: "programs in " + p.Language, files: t.files}, nil
}

// libraries are the libraries of the program (its path in the image) and of the plug-ins in the tree, by path in the image.
// A plug-in whose libraries this machine lacks is removed: it works here no more than there.
func (t tree) libraries(program string) (map[string]string, error) {
	first, err := read(t.files[program].from)
	if err != nil {
		return nil, err
	}
	own := map[string]bool{} // names of the libraries that the tree has
	for at := range t.files {
		own[path.Base(at)] = true
	}
	var plugins []object
	for at, f := range t.files {
		if at == program || f.from == "" || !strings.Contains(path.Base(at), ".so") {
			continue
		}
		plugin, err := read(f.from)
		if err != nil { // for another system
			continue
		}
		if _, err := closure(first, []object{plugin}, own); err != nil {
			delete(t.files, at)
			continue
		}
		plugins = append(plugins, plugin)
	}
	return closure(first, plugins, own)
}

// add copies a directory of this machine to a directory of the tree, without the files that skip names by their
// path in it.
func (t tree) add(from, to string, skip func(string) bool) error {
	from, err := filepath.EvalSymlinks(from)
	if err != nil {
		return err
	}
	return filepath.WalkDir(from, func(at string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		inside, err := filepath.Rel(from, at)
		if err != nil {
			return err
		}
		if inside != "." && skip(filepath.ToSlash(inside)) {
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		info, err := os.Stat(at) // follows links
		if err != nil || !info.Mode().IsRegular() {
			return nil // a directory, or a link to nothing
		}
		mode := fs.FileMode(0o644)
		if info.Mode()&0o100 != 0 {
			mode = 0o755
		}
		t.files[path.Join(t.root, to, filepath.ToSlash(inside))] = file{mode: mode, from: at}
		return nil
	})
}

func packRust(t tree, p Programs) ([]string, error) {
	at := path.Join(t.root, filepath.Base(p.Command[0]))
	t.files[at] = file{mode: 0o755, from: p.Command[0]}
	return []string{at}, nil
}

// pythonPaths prints where an interpreter has its program, its standard library and its packages.
const pythonPaths = `import json, os, sys, sysconfig
print(json.dumps({"program": os.path.realpath(sys._base_executable), "library": sysconfig.get_path("stdlib"),
    "packages": sysconfig.get_path("purelib"), "version": sysconfig.get_python_version()}))`

// unusedPython are directories and files of Python that no server uses, by the beginning of their path.
var unusedPython = []string{
	"site-packages", "dist-packages", "test", "config-", "idlelib", "tkinter", "turtledemo", "ensurepip", "lib2to3", "pydoc_data", "distutils/tests", "unittest/test",
	"lib-dynload/_test", "lib-dynload/_tkinter", "lib-dynload/_curses", "lib-dynload/readline", "lib-dynload/_gdbm", "lib-dynload/_dbm", "lib-dynload/xxlimited", "lib-dynload/nis",
}

// unusedPackages are packages that only the build uses, by the beginning of their name.
var unusedPackages = []string{"pip", "setuptools", "_distutils_hack", "distutils-precedence", "grpc_tools", "grpcio_tools", "pkg_resources"}

// packPython copies the interpreter with its standard library, and the packages of the virtual environment into another.
func packPython(t tree, p Programs) ([]string, error) {
	text, err := exec.Command(p.Command[0], "-I", "-c", pythonPaths).Output()
	if err != nil {
		return nil, fmt.Errorf("ask %s for its paths: %w", p.Command[0], err)
	}
	var at struct{ Program, Library, Packages, Version string }
	if err := json.Unmarshal(text, &at); err != nil {
		return nil, err
	}
	name := filepath.Base(at.Library) // python3.11
	begins := func(prefixes []string) func(string) bool {
		return func(inside string) bool {
			return slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(inside, prefix) })
		}
	}
	program := path.Join(t.root, "bin", "python3")
	t.files[program] = file{mode: 0o755, from: at.Program}
	t.files[path.Join(t.root, "pyvenv.cfg")] = file{mode: 0o644, text: fmt.Sprintf("home = %s/base/bin\ninclude-system-site-packages = false\nversion = %s\n", t.root, at.Version)}
	unused := func(inside string) bool { // a RECORD has checksums of scripts, which name the directory of this environment
		return begins(unusedPackages)(inside) || path.Base(inside) == "RECORD"
	}
	err = errors.Join(
		t.add(at.Library, path.Join("base/lib", name), begins(unusedPython)),
		t.add(at.Packages, path.Join("lib", name, "site-packages"), unused))
	if err != nil {
		return nil, err
	}
	for at, f := range t.files {
		if strings.HasSuffix(at, ".pyc") {
			if err := t.setCompiled(at, f.from); err != nil {
				return nil, err
			}
		}
	}
	return append([]string{program}, p.Command[1:]...), nil
}

// compiledHeader is the length of the header of a .pyc file: a magic number, flags, and the time and size of the source
// (PEP 552).
const compiledHeader = 16

// setCompiled changes the header of a compiled module so that it is valid for its source, which has the time 0 in the
// image. Otherwise each process would compile the module. A compiled module that is older than its source is left out.
func (t tree) setCompiled(at, from string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	name, _, _ := strings.Cut(path.Base(at), ".")
	source := path.Join(path.Dir(path.Dir(at)), name+".py")
	info, err := os.Stat(t.files[source].from)
	if err != nil || len(text) < compiledHeader || strings.Contains(path.Base(at), ".opt-") {
		delete(t.files, at) // without a source, or for python -O
		return nil
	}
	flags := binary.LittleEndian.Uint32(text[4:])
	if flags == 0 && (binary.LittleEndian.Uint32(text[8:]) != uint32(info.ModTime().Unix()) || binary.LittleEndian.Uint32(text[12:]) != uint32(info.Size())) {
		delete(t.files, at)
		return nil
	}
	if flags == 0 {
		clear(text[8:12])
	}
	t.files[at] = file{mode: 0o644, text: string(text)}
	return nil
}

// unusedJava are parts of a Java runtime that a program without a screen does not use.
var unusedJava = []string{"include", "man", "jmods", "demo", "sample", "lib/src.zip", "lib/ct.sym"}

// packJava copies the Java runtime, the libraries and the AOT cache, which stays valid because the libraries have the time 0
// where they are built too.
func packJava(t tree, p Programs) (command []string, err error) {
	java, err := exec.LookPath(p.Command[0])
	if err == nil {
		java, err = filepath.EvalSymlinks(java)
	}
	if err != nil {
		return nil, err
	}
	home := filepath.Dir(filepath.Dir(java))
	if err := t.add(home, "runtime", func(inside string) bool { return slices.Contains(unusedJava, inside) }); err != nil {
		return nil, err
	}
	command = []string{path.Join(t.root, "runtime/bin/java")}
	for _, argument := range p.Command[1:] {
		flag, at, _ := strings.Cut(argument, "=")
		switch {
		case flag == "-XX:AOTCache":
			t.files[path.Join(t.root, "aot")] = file{mode: 0o644, from: at}
			argument = flag + "=" + path.Join(t.root, "aot")
		case strings.HasSuffix(argument, "/lib/*"):
			if err := t.add(filepath.Dir(argument), "lib", func(string) bool { return false }); err != nil {
				return nil, err
			}
			argument = path.Join(t.root, "lib/*")
		}
		command = append(command, argument)
	}
	return command, nil
}
