package result

import (
	"fmt"
	"os"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// WithoutPaths returns a copy of a document, a comparison, or other values of this package, whose fields are all exported,
// for others to read: of each absolute path of a file, in every text, it keeps the last element. So it contains no
// directory or name of a user. Keys of maps, and values of cells, that would become equal get a number.
func WithoutPaths[T any](v T) T {
	p := pathRemover{keys: newShortNames(), inCells: newShortNames(), text: ShortenPaths}
	return p.copy(reflect.ValueOf(v)).Interface().(T)
}

// pathRemover shortens the texts of a document. A key of maps has the same name in each map, and a value of cells
// in each cell.
type pathRemover struct {
	keys, inCells shortNames
	text          func(string) string // shortens other texts
}

// shortNames gives each text a short name of its own.
type shortNames struct {
	names map[string]string // by text
	taken map[string]bool   // names
}

func newShortNames() shortNames { return shortNames{map[string]string{}, map[string]bool{}} }

func (s shortNames) name(text string) string {
	name, ok := s.names[text]
	if !ok {
		short := ShortenPaths(text)
		name = short
		for i := 2; s.taken[name]; i++ {
			name = fmt.Sprintf("%s (%d)", short, i)
		}
		s.names[text], s.taken[name] = name, true
	}
	return name
}

func (p pathRemover) copy(v reflect.Value) reflect.Value {
	if v.Type() == reflect.TypeFor[time.Time]() {
		return v
	}
	if v.Type() == reflect.TypeFor[Cell]() {
		p.text = p.inCells.name
	}
	switch v.Kind() {
	case reflect.String:
		if text := v.String(); strings.Contains(text, "/") {
			return reflect.ValueOf(p.text(text)).Convert(v.Type())
		}
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return v
		}
		inner := p.copy(v.Elem())
		if v.Kind() == reflect.Interface {
			return inner
		}
		to := reflect.New(v.Type().Elem())
		to.Elem().Set(inner)
		return to
	case reflect.Struct:
		to := reflect.New(v.Type()).Elem()
		for i := range v.NumField() {
			of := p
			if v.Type() == reflect.TypeFor[Document]() && v.Type().Field(i).Name == "Definition" {
				of.text = shortenDefinition
			}
			to.Field(i).Set(of.copy(v.Field(i)))
		}
		return to
	case reflect.Slice:
		if v.IsNil() {
			return v
		}
		to := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		for i := range v.Len() {
			to.Index(i).Set(p.copy(v.Index(i)))
		}
		return to
	case reflect.Map:
		if v.IsNil() {
			return v
		}
		to := reflect.MakeMapWithSize(v.Type(), v.Len())
		keys := slices.SortedFunc(slices.Values(v.MapKeys()), func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
		for _, key := range keys {
			to.SetMapIndex(reflect.ValueOf(p.keys.name(key.String())).Convert(key.Type()), p.copy(v.MapIndex(key)))
		}
		return to
	}
	return v
}

// roots are the directories in which paths of files begin: those of this machine, and the usual
// ones. Other texts that begin with a slash are gRPC methods and paths of URLs. The names of devices
// and of the kernel's files are the same everywhere.
var roots = sync.OnceValue(func() *regexp.Regexp {
	names := []string{"Applications", "Library", "System", "Users", "Volumes", "bin", "boot", "data", "etc", "home", "lib", "media", "mnt", "nix",
		"opt", "private", "root", "run", "sbin", "snap", "srv", "tmp", "usr", "var", "work", "workspace"}
	entries, _ := os.ReadDir("/") // an error leaves the usual ones
	for _, entry := range entries {
		if entry.IsDir() && !slices.Contains([]string{"dev", "proc", "sys"}, entry.Name()) {
			names = append(names, entry.Name())
		}
	}
	for i, name := range names {
		names[i] = regexp.QuoteMeta(name)
	}
	return regexp.MustCompile(`/(?:` + strings.Join(names, "|") + `)(?:/+[^\s/"'` + "`" + `,;:()<>\[\]{}|\\]+)+/?`)
})

// ShortenPaths is [WithoutPaths] for a text.
func ShortenPaths(text string) string { return shorten(text, startsPath) }

// requestKey is the start of a line of an experiment up to the path of a request: {http: GET, path: "/data/orders"}. Logs of
// programs have such lines too, with paths of files.
var requestKey = regexp.MustCompile(`(?:^|[\s{,"'])(?:http|path)["']?:[ \t]*["']?$`)

// shortenDefinition shortens the paths of files in an experiment, but not those of its requests.
func shortenDefinition(text string) string {
	return shorten(text, func(before string) bool {
		return startsPath(before) && !requestKey.MatchString(before[strings.LastIndexByte(before, '\n')+1:])
	})
}

// shorten shortens the paths that begin after a text.
func shorten(text string, startsPath func(before string) bool) string {
	var out strings.Builder
	done := 0
	for _, at := range roots().FindAllStringIndex(text, -1) {
		if !startsPath(text[:at[0]]) {
			continue
		}
		out.WriteString(text[done:at[0]] + lastElement(text[at[0]:at[1]]))
		done = at[1]
	}
	return out.String() + text[done:]
}

// request is the end of a text before the path of a request, such as "GET ".
var request = regexp.MustCompile(`\b(?:GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS) $`)

// shortFlag is the end of a text before the path of a flag of one letter, such as -I.
var shortFlag = regexp.MustCompile(`(?:^|[\s"',=\[])-[A-Za-z]$`)

var insidePath = regexp.MustCompile(`[\w./~+%-]`)

// startsPath reports whether a slash after this text is the first of a path.
func startsPath(before string) bool {
	if strings.HasSuffix(before, "unix://") || strings.HasSuffix(before, "file://") {
		return true
	}
	return before == "" || shortFlag.MatchString(before[max(0, len(before)-3):]) || !insidePath.MatchString(before[len(before)-1:]) && !request.MatchString(before)
}

func lastElement(file string) string {
	file = path.Clean(file)
	home, _ := os.UserHomeDir() // "" matches no path
	if parent := path.Dir(file); parent == "/home" || parent == "/Users" || file == home {
		return "~"
	}
	return "…/" + path.Base(file)
}
