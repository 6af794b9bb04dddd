package testkit

import (
	"reflect"
	"regexp"
	"slices"
)

var templateField = regexp.MustCompile(`\.([A-Z]\w*)`)

// TemplateMethods returns what looks like a field in a template, and is a method of a type or of a type in it. Templates of
// a released program cannot call methods: docs/decisions/0044-size.md.
func TemplateMethods(text string, types ...reflect.Type) (methods []string) {
	seen := map[reflect.Type]bool{}
	for len(types) > 0 {
		typ := types[0]
		types = types[1:]
		if seen[typ] {
			continue
		}
		seen[typ] = true
		pointer := typ
		switch typ.Kind() {
		case reflect.Pointer:
			types = append(types, typ.Elem())
		case reflect.Slice, reflect.Array:
			types, pointer = append(types, typ.Elem()), reflect.PointerTo(typ)
		case reflect.Map:
			types, pointer = append(types, typ.Key(), typ.Elem()), reflect.PointerTo(typ)
		case reflect.Struct:
			for i := range typ.NumField() {
				types = append(types, typ.Field(i).Type)
			}
			pointer = reflect.PointerTo(typ)
		}
		for _, field := range templateField.FindAllStringSubmatch(text, -1) {
			if _, is := pointer.MethodByName(field[1]); is && !slices.Contains(methods, field[1]) {
				methods = append(methods, field[1])
			}
		}
	}
	return methods
}
