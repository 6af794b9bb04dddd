package data_test

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/types/descriptorpb"

	"rpclab/internal/service/data"
)

// hostile is a value that ends a text in JSON, a path and a query.
const hostile = `a"b/c?d=e&f g` + "\n"

func TestTemplatesUseValuesOfACall(t *testing.T) {
	type parse func(text string) (*data.Messages, error)
	for name, c := range map[string]struct {
		parse parse
		want  string
	}{
		"text": {func(text string) (*data.Messages, error) { return data.Text("metadata", []byte(text), "token") }, "<" + hostile + "> 3"},
		"path": {func(text string) (*data.Messages, error) { return data.Path("path", []byte(text), "token") }, "<a%22b%2Fc%3Fd%3De%26f%20g%0A> 3"},
		"body": {func(text string) (*data.Messages, error) { return data.Body("data", []byte(text), "token") }, `<a\"b/c?d=e&f g\n> 3`},
	} {
		all, err := c.parse("<{{.token}}> {{.Number}}")
		if err != nil {
			t.Fatal(err)
		}
		got, err := all.For(data.Call{Number: 3, Values: map[string]string{"token": hostile}})
		if string(got) != c.want || err != nil {
			t.Errorf("%s: %q, %v; want %q", name, got, err, c.want)
		}
		if got, err := all.For(data.Call{}); err == nil {
			t.Errorf("%s: %q without the value", name, got)
		}
	}
}

func TestMessagesWithValuesAreCheckedAsFarAsTheyAreKnown(t *testing.T) {
	const field = "the call has .Number, and .token by its from"
	for text, want := range map[string]string{
		`{"identifier_value": "{{.token}}"}`:          "",
		`{"string_value": "no {{.token}}"}`:           "", // not base64; with the token it may be
		`{"identifier_value": "{{.tokn}}"}`:           `{{.tokn}}: ` + field,
		`{"user": "{{.token}}"}`:                      `unknown field "user"`,
		`{"name": [{"nam": "{{.token}}"}]}`:           `unknown field "nam"`,
		`{"identifier_value": "{{.token}"}`:           "bad character",
		`{"identifier_value": "{{.token.x}}"}`:        "can't evaluate field x",
		`{"identifier_value": "{{.token}} {{if}}"}`:   "missing value for if",
		`{"positive_int_value": "{{.Number}}{{no}}"}`: `function "no" not defined`,
	} {
		_, err := data.JSON("data of call get", []byte(text), new(descriptorpb.UninterpretedOption).ProtoReflect().Descriptor(), "token")
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
