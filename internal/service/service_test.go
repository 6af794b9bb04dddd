package service_test

import (
	"cmp"
	"errors"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	rpclabv1 "rpclab/api/rpclab/v1"
	"rpclab/internal/service"
	"rpclab/internal/service/method"
	"rpclab/internal/service/stream"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T, spec service.Spec) (*service.Call, error) {
	t.Helper()
	source, err := method.FromProto(t.Context(), []string{"../../api/rpclab/v1/greeter.proto"}, []string{"../../api"})
	if err != nil {
		t.Fatal(err)
	}
	if spec.Protos, err = method.Descriptors(source); err != nil {
		t.Fatal(err)
	}
	if source, err = method.FromDescriptors(spec.Protos); err != nil {
		t.Fatal(err)
	}
	spec.Name, spec.Method = cmp.Or(spec.Name, "hello"), "rpclab.v1.Greeter/SayHello"
	return service.Open(t.Context(), spec, source)
}

func TestStreamOptionsHaveToFitTheMethod(t *testing.T) {
	const want = "call hello: stream.messages and stream.duration: rpclab.v1.Greeter/SayHello does not stream responses; leave them out"
	if _, err := open(t, service.Spec{Stream: stream.Options{MaxResponses: 3}}); err == nil || err.Error() != want {
		t.Errorf("the error is %v, want %s", err, want)
	}
}

func TestCallsSendTheRowsOfAFileInTurn(t *testing.T) {
	call, err := open(t, service.Spec{File: "names.csv", Data: "name\na\nb\n"})
	if err != nil {
		t.Fatal(err)
	}
	for n, want := range []string{"a", "b", "a"} {
		message, err := call.Message(uint64(n), nil)
		var got rpclabv1.HelloRequest
		if err := errors.Join(err, proto.Unmarshal(message, &got)); err != nil || got.Name != want {
			t.Errorf("call %d sends %q, %v; want %q", n, got.Name, err, want)
		}
	}
	const wrong = `data of call hello: names.csv: the header names "nmae", which is not a field of rpclab.v1.HelloRequest`
	if _, err := open(t, service.Spec{File: "names.csv", Data: "nmae\na\n"}); err == nil || err.Error() != wrong {
		t.Errorf("the error is %v, want %s", err, wrong)
	}
}

func reply(t *testing.T, message, backend string) []byte {
	t.Helper()
	encoded, err := proto.Marshal(&rpclabv1.HelloReply{Message: message, Backend: backend})
	if err != nil {
		t.Fatal(err)
	}
	return encoded
}

func TestResponsesAreJudged(t *testing.T) {
	call, err := open(t, service.Spec{Check: `answer.message.startsWith("Hello") && size(answer.backend) > 0`, Identity: service.Identity{Field: "backend"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		response      []byte
		backend, code string
		message       string
	}{
		{reply(t, "Hello, you", "b-1"), "b-1", "", ""},
		{reply(t, "Bye", "b-2"), "b-2", service.CheckFailed, `is false; the response was {"message":"Bye", "backend":"b-2"}`},
		{[]byte{0x0a, 5, 'x'}, "", "DATA_LOSS", "the response is not a rpclab.v1.HelloReply"},
	} {
		backend, err := call.Judge(c.response)
		code, message := "", ""
		if err != nil {
			code, message = service.CodeOf(err), strings.ReplaceAll(err.Error(), `,"`, `, "`)
		}
		if backend != c.backend || code != c.code || !strings.Contains(message, c.message) {
			t.Errorf("%q: backend %q, code %s, %s; want %q, %s, %s", c.response, backend, code, message, c.backend, c.code, c.message)
		}
	}
}

func TestWrongCallsAreRefusedBeforeTheyAreMade(t *testing.T) {
	for _, c := range []struct {
		spec service.Spec
		want string
	}{
		{service.Spec{Data: `{"nam": "x"}`}, `data of call hello is not a rpclab.v1.HelloRequest: `},
		{service.Spec{Data: `{"name": "{{randomInt 9}}"}`}, "data of call hello is not a rpclab.v1.HelloRequest: 1:12: "},
		{service.Spec{Data: `{"name": "{{.Worker}}"}`}, "{{.Worker}} is known to rpclab load only: use {{.Number}} or {{uuid}}"},
		{service.Spec{Data: `{"name": "{{printf \"}%v\" .Worker}}"}`}, "{{.Worker}} is known to rpclab load only"},
		{service.Spec{Metadata: map[string][]string{"Content-Type": {"x"}}}, "metadata content-type: gRPC sets this header itself"},
		{service.Spec{Metadata: map[string][]string{"id-bin": {"%"}}}, `metadata id-bin: "%" is not base64`},
		{service.Spec{Check: "answer.mesage == ''"}, "check of call hello: \"answer.mesage == ''\": column 7: undefined field 'mesage'; did you mean \"message\"?"},
		{service.Spec{Check: "answr.message == ''"}, "column 1: undeclared reference to 'answr' (in container ''); did you mean \"answer\"?"},
		{service.Spec{Check: "answer.message"}, `check of call hello: "answer.message" is a value of type string and not a condition: compare it with ==, < or >`},
		{service.Spec{Check: "size(answer.message) >"}, `check of call hello: "size(answer.message) >": column 23: `},
		{service.Spec{Identity: service.Identity{Field: "pod"}}, `identity.field pod: rpclab.v1.HelloReply has no field "pod": use one of backend, message`},
	} {
		if _, err := open(t, c.spec); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v\nwant %s", c.spec, err, c.want)
		}
	}
}

func TestNamesMayContainWorker(t *testing.T) {
	spec := service.Spec{Data: `{"name": "acme.Worker {{uuid}} acme.Worker"}`, Metadata: map[string][]string{"class": {"acme.Worker"}}}
	if _, err := open(t, spec); err != nil {
		t.Error(err)
	}
	if _, err := service.OpenHTTP(service.Spec{HTTP: "POST", Path: "/twirp/acme.v1.WorkerService/Get", Data: `{"@type": "acme.Worker"}`}); err != nil {
		t.Error(err)
	}
}

func TestABackendIsNamedByItsIdentity(t *testing.T) {
	header, trailer := metadata.Pairs("x-pod", "from-header", service.UpstreamHeader, "10.0.0.1:1"), metadata.Pairs("x-pod", "from-trailer")
	for _, c := range []struct {
		identity service.Identity
		header   metadata.MD
		want     string
	}{
		{service.Identity{}, nil, "1.2.3.4:5"},
		{service.Identity{}, header, "10.0.0.1:1"},
		{service.Identity{Header: "X-Pod"}, header, "from-header"},
		{service.Identity{Trailer: "x-pod"}, header, "from-trailer"},
		{service.Identity{Header: "other"}, header, ""},
		{service.Identity{Field: "backend"}, header, ""},
	} {
		if got := c.identity.BackendOf(c.header, trailer, "1.2.3.4:5"); got != c.want {
			t.Errorf("%+v with header %v: %q, want %q", c.identity, c.header, got, c.want)
		}
	}
}

func TestMetadataCanBeTemplates(t *testing.T) {
	call, err := open(t, service.Spec{Metadata: map[string][]string{"Tenant": {"a", "b"}, "number": {"{{.Number}}"}}})
	if err != nil {
		t.Fatal(err)
	}
	for n, want := range []string{"0", "1"} {
		md, err := call.Metadata(uint64(n), nil)
		if err != nil || md.Get("tenant")[0] != "a" || md.Get("number")[0] != want {
			t.Errorf("metadata of call %d: %v, %v; want tenant a and number %s", n, md, err, want)
		}
	}
}

// Blocks of arms that take turns are loads of their own, and each would begin with the first rows of a file.
func TestNumbersContinueInTheNextLoad(t *testing.T) {
	call, err := open(t, service.Spec{Data: `[{"name": "a"}, {"name": "b"}, {"name": "c"}]`, Metadata: map[string][]string{"number": {"{{.Number}}"}}})
	if err != nil {
		t.Fatal(err)
	}
	var names, numbers []string
	for range 2 {
		call.StartLoad()
		for n := range uint64(2) {
			encoded, err := call.Message(n, nil)
			if err != nil {
				t.Fatal(err)
			}
			request := new(rpclabv1.HelloRequest)
			if err := proto.Unmarshal(encoded, request); err != nil {
				t.Fatal(err)
			}
			md, err := call.Metadata(n, nil)
			if err != nil {
				t.Fatal(err)
			}
			names, numbers = append(names, request.Name), append(numbers, md.Get("number")[0])
		}
	}
	if got := strings.Join(append(names, numbers...), " "); got != "a b c a 0 1 2 3" {
		t.Errorf("two loads of two calls send %s, want a b c a with the numbers 0 1 2 3", got)
	}
}

// Callers share a load. Each counts its calls from 0, and no two send the same number or row of a file.
func TestCallersThatShareALoadHaveDifferentNumbers(t *testing.T) {
	seen := map[string]int{}
	for caller := range uint64(3) {
		spec := service.Spec{Data: `[{"name": "a"}, {"name": "b"}, {"name": "c"}, {"name": "d"}, {"name": "e"}, {"name": "f"}]`,
			Metadata: map[string][]string{"number": {"{{.Number}}"}}, Caller: caller, Callers: 3}
		call, err := open(t, spec)
		if err != nil {
			t.Fatal(err)
		}
		spec.HTTP, spec.Path, spec.Data = "GET", "/{{.Number}}", ""
		request, err := service.OpenHTTP(spec)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // loads
			call.StartLoad()
			request.StartLoad()
			encoded, err := call.Message(0, nil)
			if err != nil {
				t.Fatal(err)
			}
			md, err := call.Metadata(0, nil)
			if err != nil {
				t.Fatal(err)
			}
			path, err := request.Path(0, nil)
			if err != nil {
				t.Fatal(err)
			}
			seen["row "+string(encoded)]++
			seen["number "+md.Get("number")[0]]++
			seen["path "+string(path)]++
		}
	}
	if len(seen) != 18 || seen["number 5"] != 1 || seen["path /5"] != 1 {
		t.Errorf("the calls are %v, want 6 different rows, numbers and paths", seen)
	}
}
