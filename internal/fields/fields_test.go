package fields_test

import (
	"slices"
	"testing"
	"text/template"

	"go.uber.org/goleak"

	"rpclab/internal/fields"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestOf(t *testing.T) {
	for text, want := range map[string][]string{
		"":                                   nil,
		"/orders/7":                          nil,
		"/{{.id}}":                           {"id"},
		`{{printf "%d-%s.txt" .Number .id}}`: {"Number", "id"},
		`{{printf ".id"}}{{/* .id */}}`:      nil,
		"{{if .a}}{{.b}}{{else}}{{$.c.d}}{{end}}":  {"a", "b", "c"},
		"{{range .a}}x{{end}}{{with .b}}y{{end}}":  {"a", "b"},
		`{{$x := .a}}{{$x}}{{printf "%s" (.b.c)}}`: {"a", "b"},
	} {
		parsed, err := template.New("").Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := fields.Of(parsed); !slices.Equal(got, want) {
			t.Errorf("%s uses %v, want %v", text, got, want)
		}
	}
}
