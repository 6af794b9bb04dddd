package data_test

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	rpclabv1 "rpclab/api/rpclab/v1"
	"rpclab/internal/service/data"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func request() protoreflect.MessageDescriptor {
	return new(rpclabv1.HelloRequest).ProtoReflect().Descriptor()
}

func messages(t *testing.T, text string) *data.Messages {
	t.Helper()
	parsed, err := data.JSON("-d", []byte(text), request())
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

// names returns the names in the messages of the first calls.
func names(t *testing.T, from *data.Messages, calls int) string {
	t.Helper()
	var all []string
	for n := range calls {
		bytes, err := from.For(data.Call{Number: uint64(n), Worker: n % 2})
		if err != nil {
			t.Fatal(err)
		}
		var hello rpclabv1.HelloRequest
		if err := proto.Unmarshal(bytes, &hello); err != nil {
			t.Fatal(err)
		}
		all = append(all, hello.Name)
	}
	return strings.Join(all, " ")
}

func TestCallsUseTheMessagesInTurn(t *testing.T) {
	for form, text := range map[string]string{
		"array":  ` [{"name": "a"}, {"name":"b"} ,{"name":"c"}]`,
		"NDJSON": "{\"name\": \"a\"}\n{\"name\":\"b\"}\n\n{\"name\":\"c\"}\n",
	} {
		m := messages(t, text)
		if got := names(t, m, 4); got != "a b c a" || m.Templated() || m.Len() != 3 {
			t.Errorf("%s: the calls send the names %q of %d messages, want \"a b c a\" of 3", form, got, m.Len())
		}
	}
}

func TestNoDataIsTheEmptyMessage(t *testing.T) {
	if got := names(t, messages(t, ""), 1); got != "" {
		t.Errorf("no data sends the name %q, want an empty name", got)
	}
}

func TestTemplatesAreExecutedForEachCall(t *testing.T) {
	m := messages(t, `[{"name": "n{{.Number}}w{{.Worker}}"}, {"name": "still"}, {"name": {{printf "%q" "x, ]}"}} }]`)
	if got := names(t, m, 4); got != "n0w0 still x, ]} n3w1" || !m.Templated() {
		t.Errorf("the calls send the names %q, want \"n0w0 still x, ]} n3w1\"", got)
	}
}

func TestATemplateMayContainControlActions(t *testing.T) {
	m := messages(t, `{ {{if .Number}}"name": "n{{.Number}}"{{else}}"name": "first"{{end}} }`)
	if got := names(t, m, 3); got != "first n1 n2" {
		t.Errorf("the calls send the names %q, want \"first n1 n2\"", got)
	}
}

func TestAByteOrderMarkIsIgnored(t *testing.T) {
	if got := names(t, messages(t, "\xef\xbb\xbf"+`{"name": "a"}`), 1); got != "a" {
		t.Errorf("the call sends the name %q, want a", got)
	}
}

func TestTemplatesHaveFunctions(t *testing.T) {
	for call, form := range map[string]string{
		"uuid":              `^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`,
		"randomInt 3 5":     `^[345]$`,
		"randomInt -7 -7":   `^-7$`,
		"randomString 12":   `^[a-z0-9]{12}$`,
		"now":               `^20\d\d-\d\d-\d\dT[\d:.]+Z$`,
		"unixMilli":         `^\d{13}$`,
		"printf \"%04d\" 7": `^0007$`,
	} {
		got := names(t, messages(t, `{"name": "{{`+strings.ReplaceAll(call, `"`, "`")+`}}"}`), 1)
		if !regexp.MustCompile(form).MatchString(got) {
			t.Errorf("{{%s}} is %q, want a match of %s", call, got, form)
		}
	}
}

func TestMessagesAreSafeForConcurrentUse(t *testing.T) {
	parsed := messages(t, `{"name": "{{.Number}}"}`)
	var all sync.WaitGroup
	for n := range uint64(8) {
		all.Go(func() {
			for range 100 {
				if _, err := parsed.For(data.Call{Number: n}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
}

func TestATemplateThatFailsInALaterCallNamesThePosition(t *testing.T) {
	parsed := messages(t, `{"name": "{{if .Number}}{{randomInt 2 1}}{{end}}"}`)
	_, err := parsed.For(data.Call{Number: 1})
	if want := `1:26: {{randomInt 2 1}}: `; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("the error is %v, want %s…", err, want)
	}
	parsed = messages(t, `{"{{if .Number}}nmae{{else}}name{{end}}": "b"}`)
	const want = `(line 1:2): unknown field "nmae"`
	if _, err := parsed.For(data.Call{Number: 1}); err == nil || err.Error() != want {
		t.Errorf("the error is %v, want %s", err, want)
	}
}

func TestFixedMessagesAreEncodedOnce(t *testing.T) {
	m := messages(t, `{"name": "a"}`)
	if n := testing.AllocsPerRun(100, func() { _, _ = m.For(data.Call{Number: 1}) }); n != 0 {
		t.Errorf("a message without a template allocates %v times a call, want 0", n)
	}
}

func TestErrorsOfDataNameTheCauseAndThePosition(t *testing.T) {
	for text, want := range map[string]string{
		"{\n \"name\": }":                 `-d: not JSON at line 2, column 10`,
		`{"name": "a"`:                    `-d: not JSON at line 1, column 13: unexpected end`,
		`[{"name": "a"}`:                  `unexpected end`,
		`[{"name": "a"}] x`:               `there is data after the array`,
		`[]`:                              `the data contains no message`,
		`{"nmae": "a"}`:                   `-d is not a rpclab.v1.HelloRequest: (line 1:2): unknown field "nmae"`,
		`[{}, {"name": 7}]`:               `-d, message 2 is not a rpclab.v1.HelloRequest`,
		`{"name": "{{.Numbr}}"}`:          `can't evaluate field Numbr`,
		`{"name": "{{uid}}"}`:             `function "uid" not defined`,
		`{"name": {{randomInt 1 9}} }`:    `invalid value for string field name`,
		`{"name": "{{randomInt 9 1}}"}`:   `the second number must not be smaller`,
		`{"name": "{{randomString -1}}"}`: `the length must be`,
	} {
		_, err := data.JSON("-d", []byte(text), request())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\nthe error is %v\nwant %s", text, err, want)
		}
	}
}

func TestTextIsOneBodyAndMayBeATemplate(t *testing.T) {
	parsed, err := data.Text("-d", []byte("[1, 2] {{.Number}}"))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := parsed.For(data.Call{Number: 9}); string(got) != "[1, 2] 9" || err != nil {
		t.Errorf("the body is %q, %v; want \"[1, 2] 9\"", got, err)
	}
	if got, _ := data.Binary([]byte("{{x")).For(data.Call{}); string(got) != "{{x" {
		t.Errorf("binary data {{x becomes %q, want it unchanged", got)
	}
}

// endless is standard input without an end.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

func TestDataHasALimit(t *testing.T) {
	file := filepath.Join(t.TempDir(), "large.json")
	for name, from := range map[string]string{"standard input": "@-", file: "@" + file} {
		large, err := os.Create(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(large.Truncate(1<<40), large.Close()); err != nil { // no block on the disk
			t.Fatal(err)
		}
		want := name + " has more than 67108864 bytes: shorten it, or send its messages in several loads"
		if _, _, err := data.Read(from, endless{}); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("-d %s: the error is %v, want %s", from, err, want)
		}
	}
}
