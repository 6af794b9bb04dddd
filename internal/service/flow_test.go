package service_test

import (
	"maps"
	"strings"
	"testing"

	"rpclab/internal/service"
)

// greeted opens two calls of a flow: the second takes values from the answer to the first.
func greeted(t *testing.T, from map[string]string) (*service.Flow, []*service.Call, error) {
	t.Helper()
	first, err := open(t, service.Spec{Name: "say-hello"})
	if err != nil {
		t.Fatal(err)
	}
	second, err := open(t, service.Spec{From: from, Data: `{"name": "{{.token}}"}`, Metadata: map[string][]string{"authorization": {"Bearer {{.token}}"}}})
	if err != nil {
		t.Fatal(err)
	}
	flow, err := service.NewFlow([]*service.Call{first, second})
	return flow, []*service.Call{first, second}, err
}

func TestACallTakesValuesFromAnEarlierAnswer(t *testing.T) {
	flow, calls, err := greeted(t, map[string]string{"token": `say_hello.message + "!"`})
	if err != nil {
		t.Fatal(err)
	}
	answers := service.Answers{}
	if values, err := flow.Values(0, answers); values != nil || err != nil {
		t.Errorf("the first call takes %v, %v", values, err)
	}
	answer, err := calls[0].Answer(reply(t, `a "b"`, ""))
	if err != nil {
		t.Fatal(err)
	}
	flow.Add(answers, 0, answer)
	values, err := flow.Values(1, answers)
	if err != nil {
		t.Fatal(err)
	}
	request, err := calls[1].Message(0, values)
	if want := "\n\x06a \"b\"!"; string(request) != want || err != nil {
		t.Errorf("the message is %q, %v; want %q", request, err, want)
	}
	md, err := calls[1].Metadata(0, values)
	if got := strings.Join(md["authorization"], "|"); got != `Bearer a "b"!` || err != nil {
		t.Errorf("the metadata is %q, %v", got, err)
	}
}

func TestWrongValuesOfAFlowAreNamed(t *testing.T) {
	for expression, want := range map[string]string{
		"say_hello.mesage":   `from.token of call hello: "say_hello.mesage": column 10: undefined field 'mesage'; the answers before hello in the flow are say_hello`,
		"sayhello.message":   `from.token of call hello: "sayhello.message": column 1: undeclared reference to 'sayhello' (in container ''); the answers before hello in the flow are say_hello`,
		"say_hello.message[": `from.token of call hello: "say_hello.message[": column 19: Syntax error`,
		"say_hello":          `from.token of call hello: "say_hello" is a value of type rpclab.v1.HelloReply and not a text or a number: name one of its fields`,
	} {
		if _, _, err := greeted(t, map[string]string{"token": expression}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", expression, err, want)
		}
	}
	first := service.Spec{Name: "get", From: map[string]string{"token": "login.token"}}
	for name, specs := range map[string][]service.Spec{"no call is before get in the flow": {first, {Name: "login"}}, "": {{Name: "login"}, first}} {
		if _, err := service.CheckFlow(specs); (err == nil) != (name == "") || err != nil && !strings.Contains(err.Error(), name) {
			t.Errorf("%v, want %q", err, name)
		}
	}
	_, err := service.CheckFlow([]service.Spec{{Name: "a-b"}, {Name: "a_b"}})
	if want := "the calls a-b and a_b of a flow are both a_b in expressions: rename one of them"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	_, err = open(t, service.Spec{Data: `{"name": "{{.token}}"}`})
	if want := "can't evaluate field token (a call has .Number; from defines values of the calls before it in a flow)"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
}

func TestValuesOfJSONBecomeTexts(t *testing.T) {
	const body = `{"id": 9007199254740993, "big": 18446744073709551615, "count": 1000000, "half": 0.5, "yes": true, "name": "a", "none": null, "list": [1]}`
	login, err := service.Answer([]byte(body), map[string][]string{"Content-Type": {"application/json"}})
	if err != nil {
		t.Fatal(err)
	}
	value := func(expression string) (string, error) {
		flow, err := service.NewHTTPFlow([]service.Spec{{Name: "login"}, {Name: "get", From: map[string]string{"v": expression}}})
		if err != nil {
			return "", err
		}
		answers := service.Answers{}
		flow.Add(answers, 0, login)
		values, err := flow.Values(1, answers)
		return values["v"], err
	}
	want := map[string]string{"login.id": "9007199254740993", "login.big": "18446744073709551615", "login.count": "1000000", "login.half": "0.5", "login.yes": "true",
		"login.name": "a", "login.list[0]": "1", "string(size(login.name))": "1", `b"a"`: "YQ=="}
	got := map[string]string{}
	for expression := range want {
		var err error
		if got[expression], err = value(expression); err != nil {
			t.Errorf("%s: %v", expression, err)
		}
	}
	if !maps.Equal(got, want) {
		t.Errorf("the values are %v, want %v", got, want)
	}
	for expression, want := range map[string]string{
		"login.none":  "from.v of call get: the value is null",
		"login.list":  "from.v of call get: the value is of type list and not a text or a number: name one of its fields",
		"login.other": "from.v of call get: no such key: other",
	} {
		if _, err := value(expression); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", expression, err, want)
		}
	}
}

func TestACallTakesValuesFromHeadersAndTrailers(t *testing.T) {
	for expression, want := range map[string]string{
		`headers.say_hello["x-token"]`:                     "a, b",
		`headers.say_hello["set-cookie"].split(";")[0]`:    "sid=7",
		`trailers.say_hello["x-id-bin"]`:                   "AQ",
		`say_hello.message + headers.say_hello["x-token"]`: "hia, b",
	} {
		flow, calls, err := greeted(t, map[string]string{"token": expression})
		if err != nil {
			t.Errorf("%s: %v", expression, err)
			continue
		}
		answer, fields := flow.Reads(0)
		if answer != strings.Contains(expression, "message") || !fields {
			t.Errorf("%s: it reads the answer: %t, and fields: %t", expression, answer, fields)
		}
		message, err := calls[0].Answer(reply(t, "hi", ""))
		if err != nil {
			t.Fatal(err)
		}
		answers := service.Answers{}
		flow.Add(answers, 0, message)
		flow.AddFields(answers, 0, map[string][]string{"X-Token": {"a", "b"}, "Set-Cookie": {"sid=7; Path=/"}}, map[string][]string{"x-id-bin": {"\x01"}})
		if values, err := flow.Values(1, answers); values["token"] != want || err != nil {
			t.Errorf("%s: %q, %v; want %q", expression, values["token"], err, want)
		}
	}
	for expression, want := range map[string]string{
		`headers.sayhello["x"]`: "undeclared reference to 'headers' (in container ''); the answers before hello in the flow are say_hello",
		`headers.say_hello`:     "is a value of type map(string, string) and not a text or a number: name one of its fields",
	} {
		if _, _, err := greeted(t, map[string]string{"token": expression}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", expression, err, want)
		}
	}
	if _, err := service.CheckFlow([]service.Spec{{Name: "headers"}, {Name: "get"}}); err == nil || !strings.Contains(err.Error(), "rename the call") {
		t.Errorf("a call headers: %v, want that it be renamed", err)
	}
}

// TestReflectionHasNoValuesOfAnswers: a server is asked for its methods before the flow has an answer.
func TestReflectionHasNoValuesOfAnswers(t *testing.T) {
	md, err := service.Spec{
		From: map[string]string{"token": "login.token"}, Metadata: map[string][]string{"authorization": {"Bearer {{.token}}"}, "n": {"{{.Number}}"}, "x": {"y"}},
	}.FirstMetadata()
	if err != nil || len(md["authorization"]) > 0 || len(md["n"]) != 1 || len(md["x"]) != 1 {
		t.Errorf("%v, %v; want n and x", md, err)
	}
}
