package image

import (
	"bufio"
	"bytes"
	"debug/elf"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// byItself is what glibc loads when a thread ends or is cancelled, and no program names
// (pthread_exit(3)).
const byItself = "libgcc_s.so.1"

// programs are a layer of programs, by their path in the image, with the loader and the
// libraries that they need and the image does not have yet.
func programs(have map[string]bool, from map[string]string) (contents, error) {
	layer := contents{files: map[string]file{}}
	for _, at := range slices.Sorted(maps.Keys(from)) {
		layer.what = path.Base(at)
		needed, err := closure(from[at])
		if err != nil {
			return layer, fmt.Errorf("take %s along: %w", from[at], err)
		}
		needed[at] = from[at]
		for to, source := range needed {
			if !have[to] {
				have[to] = true
				layer.files[to] = file{mode: 0o755, from: source}
			}
		}
	}
	return layer, nil
}

// closure is what has to lie beside a program for it to run, by path in the image: the
// loader that it names and the libraries that it, or one of these, names (elf(5),
// DT_NEEDED; ld.so(8)). They all come to where libc lies, a directory that libc's own
// loader looks at without any configuration. A static program needs nothing.
func closure(program string) (map[string]string, error) {
	needed := map[string]string{}
	first, err := read(program)
	if err != nil {
		return nil, err
	}
	if first.loader == "" {
		return needed, nil
	}
	needed[first.loader] = first.loader
	found := map[string]string{} // path on this machine, by name
	queue := append([]object{}, first)
	for len(queue) > 0 {
		now := queue[0]
		queue = queue[1:]
		for _, name := range now.libraries {
			if _, ok := found[name]; ok || name == filepath.Base(first.loader) {
				continue
			}
			at, library, err := now.find(name)
			if err != nil {
				return nil, err
			}
			found[name] = at
			queue = append(queue, library)
		}
		if _, ok := found[byItself]; len(queue) == 0 && !ok {
			if at, library, err := first.find(byItself); err == nil { // a system without it does not need it
				found[byItself] = at
				queue = append(queue, library)
			}
		}
	}
	home := filepath.Dir(first.loader)
	if libc, ok := found["libc.so.6"]; ok { // musl's is its loader
		home = filepath.Dir(libc)
	}
	for name, at := range found {
		needed[path.Join(home, name)] = at
	}
	return needed, nil
}

// object is a program or a library.
type object struct {
	path      string
	machine   elf.Machine
	class     elf.Class
	loader    string   // a program's; empty: it is static, or a library
	libraries []string // by name
	search    []string // where it wants them to be looked for first
}

func read(file string) (o object, err error) {
	opened, err := elf.Open(file)
	if err != nil {
		return o, fmt.Errorf("%s is no program or library of Linux: %w", file, err)
	}
	defer opened.Close()
	o = object{path: file, machine: opened.Machine, class: opened.Class}
	for _, part := range opened.Progs {
		if part.Type == elf.PT_INTERP {
			text, err := io.ReadAll(part.Open())
			if err != nil {
				return o, fmt.Errorf("%s: %w", file, err)
			}
			o.loader = string(bytes.TrimRight(text, "\x00"))
		}
	}
	if o.libraries, err = opened.ImportedLibraries(); err != nil {
		return o, fmt.Errorf("%s: %w", file, err)
	}
	for _, tag := range []elf.DynTag{elf.DT_RUNPATH, elf.DT_RPATH} {
		paths, err := opened.DynString(tag)
		if err != nil {
			return o, fmt.Errorf("%s: %w", file, err)
		}
		for _, list := range paths {
			origin := strings.NewReplacer("$ORIGIN", filepath.Dir(file), "${ORIGIN}", filepath.Dir(file))
			o.search = append(o.search, strings.Split(origin.Replace(list), ":")...)
		}
	}
	return o, nil
}

// find looks for a library of the object's own kind where the loader would.
func (o object) find(name string) (string, object, error) {
	looked := slices.Concat(o.search, directories(o.loader))
	for _, dir := range looked {
		at := filepath.Join(dir, name)
		if library, err := read(at); err == nil && library.machine == o.machine && library.class == o.class {
			library.search = append(library.search, looked...)
			return at, library, nil
		}
	}
	return "", object{}, fmt.Errorf("%s needs %s, which is in none of %s", o.path, name, strings.Join(slices.Compact(looked), ", "))
}

// directories are where this machine's loader looks for libraries: those of ld.so.conf,
// the loader's own, the usual ones.
func directories(loader string) []string {
	all := configured("/etc/ld.so.conf")
	if loader != "" {
		all = append(all, filepath.Dir(loader))
	}
	return append(all, "/lib64", "/usr/lib64", "/lib", "/usr/lib")
}

// configured reads ld.so.conf; a file that cannot be read says nothing.
func configured(file string) (dirs []string) {
	opened, err := os.Open(file)
	if err != nil {
		return nil
	}
	defer opened.Close()
	for lines := bufio.NewScanner(opened); lines.Scan(); {
		line, _, _ := strings.Cut(lines.Text(), "#")
		fields := strings.Fields(line)
		switch {
		case len(fields) == 2 && fields[0] == "include":
			pattern := fields[1]
			if !filepath.IsAbs(pattern) {
				pattern = filepath.Join(filepath.Dir(file), pattern)
			}
			included, _ := filepath.Glob(pattern) // a pattern that is wrong names nothing
			for _, more := range included {
				dirs = append(dirs, configured(more)...)
			}
		case len(fields) == 1:
			dirs = append(dirs, fields[0])
		}
	}
	return dirs
}
