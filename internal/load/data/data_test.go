package data_test

import (
	"regexp"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	rpclabv1 "rpclab/api/rpclab/v1"
	"rpclab/internal/load/data"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func request() protoreflect.MessageDescriptor {
	return new(rpclabv1.HelloRequest).ProtoReflect().Descriptor()
}

func messages(t *testing.T, text string) *data.Messages {
	t.Helper()
	m, err := data.JSON("-d", []byte(text), request())
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// names are what the first calls ask for.
func names(t *testing.T, m *data.Messages, calls int) string {
	t.Helper()
	var all []string
	for n := range calls {
		bytes, err := m.For(data.Call{Number: uint64(n), Worker: n % 2})
		if err != nil {
			t.Fatal(err)
		}
		var r rpclabv1.HelloRequest
		if err := proto.Unmarshal(bytes, &r); err != nil {
			t.Fatal(err)
		}
		all = append(all, r.Name)
	}
	return strings.Join(all, " ")
}

func TestMessagesAreTakenInTurn(t *testing.T) {
	for form, text := range map[string]string{
		"array":  ` [{"name": "a"}, {"name":"b"} ,{"name":"c"}]`,
		"NDJSON": "{\"name\": \"a\"}\n{\"name\":\"b\"}\n\n{\"name\":\"c\"}\n",
	} {
		m := messages(t, text)
		if got := names(t, m, 4); got != "a b c a" || m.Templated() || m.Len() != 3 {
			t.Errorf("%s: the calls ask for %q; %d messages", form, got, m.Len())
		}
	}
}

func TestNoDataIsTheEmptyMessage(t *testing.T) {
	if got := names(t, messages(t, ""), 1); got != "" {
		t.Errorf("got %q", got)
	}
}

func TestTemplatesAreFilledForEachCall(t *testing.T) {
	m := messages(t, `[{"name": "n{{.Number}}w{{.Worker}}"}, {"name": "still"}, {"name": {{printf "%q" "x, ]}"}} }]`)
	if got := names(t, m, 4); got != "n0w0 still x, ]} n3w1" || !m.Templated() {
		t.Errorf("the calls ask for %q", got)
	}
}

func TestATemplateMayContainControlActions(t *testing.T) {
	m := messages(t, `{ {{if .Number}}"name": "n{{.Number}}"{{else}}"name": "first"{{end}} }`)
	if got := names(t, m, 3); got != "first n1 n2" {
		t.Errorf("the calls ask for %q", got)
	}
}

func TestAByteOrderMarkIsIgnored(t *testing.T) {
	if got := names(t, messages(t, "\xef\xbb\xbf"+`{"name": "a"}`), 1); got != "a" {
		t.Errorf("the call asks for %q", got)
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
			t.Errorf("{{%s}} gave %q", call, got)
		}
	}
}

func TestManyGoroutinesMakeMessagesAtOnce(t *testing.T) {
	m := messages(t, `{"name": "{{.Number}}"}`)
	var all sync.WaitGroup
	for n := range uint64(8) {
		all.Go(func() {
			for range 100 {
				if _, err := m.For(data.Call{Number: n}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
}

func TestATemplateThatFailsLaterSaysWhere(t *testing.T) {
	m := messages(t, `{"name": "{{if .Number}}{{randomInt 2 1}}{{end}}"}`)
	_, err := m.For(data.Call{Number: 1})
	if err == nil || !strings.HasPrefix(err.Error(), `1:26: executing "message" at <randomInt 2 1>: `) {
		t.Error(err)
	}
	m = messages(t, `{"{{if .Number}}nmae{{else}}name{{end}}": "b"}`)
	if _, err := m.For(data.Call{Number: 1}); err == nil || err.Error() != `(line 1:2): unknown field "nmae"` {
		t.Error(err)
	}
}

func TestFixedMessagesAreMadeOnce(t *testing.T) {
	m := messages(t, `{"name": "a"}`)
	if n := testing.AllocsPerRun(100, func() { _, _ = m.For(data.Call{Number: 1}) }); n != 0 {
		t.Errorf("a message without a template allocates %v times a call", n)
	}
}

// TestWrongData: each error says what is wrong and where.
func TestWrongData(t *testing.T) {
	for text, want := range map[string]string{
		"{\n \"name\": }":                 `-d: not JSON at line 2, column 10`,
		`{"name": "a"`:                    `-d: not JSON at line 1, column 13: unexpected end`,
		`[{"name": "a"}`:                  `unexpected end`,
		`[{"name": "a"}] x`:               `there is data after the array`,
		`[]`:                              `it contains no message`,
		`{"nmae": "a"}`:                   `-d is not a rpclab.v1.HelloRequest: (line 1:2): unknown field "nmae"`,
		`[{}, {"name": 7}]`:               `-d, message 2 is not a rpclab.v1.HelloRequest`,
		`{"name": "{{.Numbr}}"}`:          `can't evaluate field Numbr`,
		`{"name": "{{uid}}"}`:             `function "uid" not defined`,
		`{"name": {{randomInt 1 9}} }`:    `invalid value for string field name`,
		`{"name": "{{randomInt 9 1}}"}`:   `the second number must be larger`,
		`{"name": "{{randomString -1}}"}`: `the length must be`,
	} {
		_, err := data.JSON("-d", []byte(text), request())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\n gave %v\nwant %s", text, err, want)
		}
	}
}

func TestATextIsOneBody(t *testing.T) {
	m, err := data.Text("-d", []byte("[1, 2] {{.Number}}"))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := m.For(data.Call{Number: 9}); string(got) != "[1, 2] 9" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	if got, _ := data.Binary([]byte("{{x")).For(data.Call{}); string(got) != "{{x" {
		t.Errorf("binary data is changed to %q", got)
	}
}
