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

// threadExitLibrary is a library that glibc loads when a thread exits or is cancelled, though no
// program names it (pthread_exit(3)).
const threadExitLibrary = "libgcc_s.so.1"

// programLayer is a layer of programs with their loaders and libraries. from has the path on this
// machine by the path in the image. Files that the image has already (have) are left out.
func programLayer(have map[string]bool, from map[string]string) (contents, error) {
	layer := contents{files: map[string]file{}}
	for _, at := range slices.Sorted(maps.Keys(from)) {
		layer.what = path.Base(at)
		needed, err := Dependencies(from[at])
		if err != nil {
			return layer, fmt.Errorf("find the libraries of %s: %w", from[at], err)
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

// Dependencies are the files that a program needs to run, by path in the image: its loader, its
// libraries, and the libraries of these (elf(5), DT_NEEDED; ld.so(8)). A static program needs none.
func Dependencies(program string) (map[string]string, error) {
	first, err := read(program)
	if err != nil {
		return nil, err
	}
	return closure(first, nil, nil)
}

// closure is the dependencies of a program and of the plug-ins that it loads, except libraries that the same layer of the
// image contains (own, by name). All libraries are put into the directory of libc, which the loader searches without any configuration.
func closure(first object, plugins []object, own map[string]bool) (map[string]string, error) {
	needed := map[string]string{}
	if first.loader == "" {
		return needed, nil
	}
	needed[first.loader] = first.loader
	found := map[string]string{} // path on this machine, by name
	queue := append([]object{first}, plugins...)
	for len(queue) > 0 {
		current := queue[0]
		queue = queue[1:]
		for _, name := range current.libraries {
			if _, ok := found[name]; ok || own[name] || name == filepath.Base(first.loader) {
				continue
			}
			at, library, err := current.find(name)
			if err != nil {
				return nil, err
			}
			found[name] = at
			queue = append(queue, library)
		}
		if _, ok := found[threadExitLibrary]; len(queue) == 0 && !ok {
			if at, library, err := first.find(threadExitLibrary); err == nil { // not every libc has it
				found[threadExitLibrary] = at
				queue = append(queue, library)
			}
		}
	}
	dir := filepath.Dir(first.loader)
	if libc, ok := found["libc.so.6"]; ok { // musl has none: its loader is its libc
		dir = filepath.Dir(libc)
	}
	for name, at := range found {
		needed[path.Join(dir, name)] = at
	}
	return needed, nil
}

// object is a program or a library.
type object struct {
	path      string
	machine   elf.Machine
	class     elf.Class
	loader    string   // of a program; empty for a static program or a library
	libraries []string // by name
	search    []string // directories to search for them first (RUNPATH, RPATH)
}

func read(file string) (o object, err error) {
	opened, err := elf.Open(file)
	if err != nil {
		return o, fmt.Errorf("%s is not a Linux program or library: %w", file, err)
	}
	defer opened.Close()
	o = object{path: file, machine: opened.Machine, class: opened.Class}
	for _, segment := range opened.Progs {
		if segment.Type == elf.PT_INTERP {
			text, err := io.ReadAll(segment.Open())
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

// find finds a library for the same machine and class, in the directories that the loader searches.
func (o object) find(name string) (string, object, error) {
	searched := slices.Concat(o.search, directories(o.loader))
	for _, dir := range searched {
		at := filepath.Join(dir, name)
		if library, err := read(at); err == nil && library.machine == o.machine && library.class == o.class {
			library.search = append(library.search, searched...)
			return at, library, nil
		}
	}
	return "", object{}, fmt.Errorf("%s needs %s, which is in none of %s", o.path, name, strings.Join(slices.Compact(searched), ", "))
}

// directories are those in which this machine's loader searches libraries: the directories in
// ld.so.conf, that of the loader, and the usual ones.
func directories(loader string) []string {
	all := configured("/etc/ld.so.conf")
	if loader != "" {
		all = append(all, filepath.Dir(loader))
	}
	return append(all, "/lib64", "/usr/lib64", "/lib", "/usr/lib")
}

// configured are the directories in ld.so.conf; none if the file cannot be read.
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
			included, _ := filepath.Glob(pattern) // an invalid pattern matches no file
			for _, more := range included {
				dirs = append(dirs, configured(more)...)
			}
		case len(fields) == 1:
			dirs = append(dirs, fields[0])
		}
	}
	return dirs
}
