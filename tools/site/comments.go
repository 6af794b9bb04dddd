package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
)

// comments are what the Go types of a package say about fields: by the type in lower case, and the name in JSON.
type comments map[string]map[string]string

// readComments reads the types of the package in a directory.
func readComments(dir string) (comments, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	all := comments{}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok {
				if fields, ok := spec.Type.(*ast.StructType); ok {
					all[strings.ToLower(spec.Name.Name)] = ofFields(fields)
				}
			}
			return true
		})
	}
	return all, nil
}

func ofFields(fields *ast.StructType) map[string]string {
	names := map[string]string{} // in JSON, by name in Go
	for _, f := range fields.Fields.List {
		for _, name := range f.Names {
			names[name.Name] = nameInJSON(f, name.Name)
		}
	}
	said := map[string]string{}
	for _, f := range fields.Fields.List {
		for _, name := range f.Names {
			said[names[name.Name]] = meaning(name.Name, f.Doc.Text()+f.Comment.Text(), names)
		}
	}
	return said
}

func nameInJSON(f *ast.Field, name string) string {
	if f.Tag == nil {
		return name
	}
	tag, err := strconv.Unquote(f.Tag.Value)
	if err != nil {
		return name
	}
	json, _, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ",")
	return json
}

var (
	doclink = regexp.MustCompile(`\[(\w+)\]`)
	word    = regexp.MustCompile(`\b[A-Z]\w+`)
)

// meaning is a comment in which fields have the names that they have in JSON. What the field itself is comes first.
func meaning(field, comment string, names map[string]string) string {
	text := strings.Join(strings.Fields(comment), " ")
	for _, verb := range []string{" is ", " are "} {
		text = strings.TrimPrefix(text, field+verb)
	}
	text = strings.ReplaceAll(text, "nil: ", "missing: ") // as a pointer without a value is in JSON
	text = doclink.ReplaceAllString(text, "$1")
	return word.ReplaceAllStringFunc(text, func(found string) string {
		if name := names[found]; name != "" {
			return "`" + name + "`"
		}
		return found
	})
}
