package result

import (
	"bytes"
	"maps"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestTextsLoseTheirPaths(t *testing.T) {
	for text, want := range map[string]string{
		"rpclab run /home/alice/tests/mine.yaml --seed 1":                 "rpclab run …/mine.yaml --seed 1",
		"rpclab run '/home/alice/my tests/mine.yaml'":                     "rpclab run '…/my tests/mine.yaml'",
		"stats socket /tmp/rpclab-run-1/haproxy-0/admin.sock mode 6":      "stats socket …/admin.sock mode 6",
		"path: \"/var/tmp/x\"\npath: /Users/alice/x":                      "path: \"…/x\"\npath: …/x",
		"unix:///home/alice/app.sock":                                     "unix://…/app.sock",
		"dial unix /home/alice/app.sock: connect: refused":                "dial unix …/app.sock: connect: refused",
		"in /home/alice, or /home/alice/":                                 "in ~, or ~",
		"--data=@/home/alice/ids.ndjson":                                  "--data=@…/ids.ndjson",
		"/rpclab.v1.Greeter/SayHello":                                     "/rpclab.v1.Greeter/SayHello",
		"GET http://127.0.0.1:8080/home/items/7, https://a.example/usr/x": "GET http://127.0.0.1:8080/home/items/7, https://a.example/usr/x",
		"GET /home/feed: open loop, and POST /data/orders":                "GET /home/feed: open loop, and POST /data/orders",
		"protoc -I/home/alice/protos, [-c/etc/my/x] a-b/home/x":           "protoc -I…/protos, [-c…/x] a-b/home/x",
		"WIDGET /home/alice/x":                                            "WIDGET …/x",
		"./tests/tmp/mine.yaml ../usr/x access_log /dev/null 1/2":         "./tests/tmp/mine.yaml ../usr/x access_log /dev/null 1/2",
	} {
		if got := ShortenPaths(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

// An experiment in a result can be run again: its requests are the same.
func TestADefinitionKeepsThePathsOfItsRequests(t *testing.T) {
	const before = "ready: {http: /media/ready}\nproto: /home/alice/a.proto\nimport_path: /media/x\n" +
		"calls: {a: {http: GET, path: \"/data/a/7\"}, b: {\"path\":  '/run/b'}}\nfile: \"/data/ids\"\n" + "path: /data/c/7\n"
	want := strings.NewReplacer("/home/alice/a.proto", "…/a.proto", "/media/x", "…/x", "/data/ids", "…/ids").Replace(before)
	d := WithoutPaths(Document{Definition: before, Warnings: []string{"path: '/home/alice/x'"}})
	if d.Definition != want || d.Warnings[0] != "path: '…/x'" {
		t.Errorf("the definition is\n%s\nwant\n%s\nand the warning is %s", d.Definition, want, d.Warnings[0])
	}
}

// TestEveryTextOfADocumentLosesItsPaths fills every text of a document with a path.
func TestEveryTextOfADocumentLosesItsPaths(t *testing.T) {
	var d Document
	fill(reflect.ValueOf(&d).Elem(), 0)
	d.Schema, d.Started = Schema, time.Unix(1, 0).UTC()
	before, after := written(t, d), ""
	if after = written(t, WithoutPaths(d)); strings.Contains(after, "alice") || !strings.Contains(after, "…/secret.sock") {
		t.Errorf("the document has the user's name:\n%.2000s", after)
	}
	if written(t, d) != before {
		t.Error("WithoutPaths changed its argument")
	}
	if want := strings.ReplaceAll(before, "/home/alice/secret.sock", "…/secret.sock"); after != want {
		t.Errorf("the copy differs in more than the paths:\n%.2000s\nwant\n%.2000s", after, want)
	}
}

// Two addresses with the same last element stay two backends, in every map under the same names.
func TestKeysThatLoseTheirPathsStayApart(t *testing.T) {
	second := map[string]uint64{"unix:/run/b/app.sock": 3}
	both := map[string]uint64{"unix:/run/b/app.sock": 3, "unix:/run/a/app.sock": 5}
	d := WithoutPaths(Document{Arms: []Arm{{Measures: Measures{Backends: both}, Trials: []Trial{{Measures: Measures{Backends: second}}}}}})
	want := map[string]uint64{"unix:…/app.sock": 5, "unix:…/app.sock (2)": 3}
	if got := d.Arms[0].Backends; !maps.Equal(got, want) {
		t.Errorf("the backends of the arm are %v, want %v", got, want)
	}
	if got := d.Arms[0].Trials[0].Backends; !maps.Equal(got, map[string]uint64{"unix:…/app.sock (2)": 3}) {
		t.Errorf("the backends of the trial are %v", got)
	}
}

// Two values of a sweep with the same last element stay two cells, which verdicts name as arms do.
func TestCellsThatLoseTheirPathsStayApart(t *testing.T) {
	first, second := Cell{"caller.dir": "/home/alice/v1/bin"}, Cell{"caller.dir": "/home/alice/v2/bin"}
	d := WithoutPaths(Document{Arms: []Arm{{Name: "a", Cell: first}, {Name: "a", Cell: second}}, Verdicts: []Verdict{{Cell: second}}})
	if got, want := d.Arms[0].Cell, (Cell{"caller.dir": "…/bin"}); !reflect.DeepEqual(got, want) {
		t.Errorf("the first cell is %v, want %v", got, want)
	}
	want := Cell{"caller.dir": "…/bin (2)"}
	if arm, verdict := d.Arms[1].Cell, d.Verdicts[0].Cell; !reflect.DeepEqual(arm, want) || !reflect.DeepEqual(verdict, want) {
		t.Errorf("the second cell is %v, and %v in its verdict; want %v", arm, verdict, want)
	}
	if again := WithoutPaths(d); !reflect.DeepEqual(again, d) {
		t.Errorf("a document without paths changes to %+v", again)
	}
}

func written(t *testing.T, d Document) string {
	t.Helper()
	var out bytes.Buffer
	if err := Write(&out, d); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// fill sets every text below v to a path, and every other value to 1.
func fill(v reflect.Value, depth int) {
	if v.Type() == reflect.TypeFor[time.Time]() || depth > 12 {
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString("in /home/alice/secret.sock")
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), depth+1)
	case reflect.Interface:
		v.Set(reflect.ValueOf(map[string]any{"key": []any{"/home/alice/secret.sock"}}))
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), depth+1)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), depth+1)
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, depth+1)
		fill(value, depth+1)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Int, reflect.Int64:
		v.SetInt(1)
	case reflect.Uint64:
		v.SetUint(1)
	case reflect.Float64:
		v.SetFloat(1)
	}
}
