package service_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"rpclab/internal/service"
)

func TestHTTPRequestsAreMadeFromTemplates(t *testing.T) {
	call, err := service.OpenHTTP(service.Spec{
		HTTP: "POST", Path: "/orders/{{.Number}}?x=1", Data: `{"number": {{.Number}}}`, Metadata: map[string][]string{"Tenant": {"t-{{.Number}}"}}, Authority: "shop",
	})
	if err != nil {
		t.Fatal(err)
	}
	request, err := call.For(t.Context(), "http://127.0.0.1:80", 7, nil)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(request.Body)
	if got := request.URL.String(); err != nil || got != "http://127.0.0.1:80/orders/7?x=1" || string(body) != `{"number": 7}` ||
		request.Header.Get("Tenant") != "t-7" || request.Header.Get("Content-Type") != "application/json" || request.Host != "shop" || request.Method != http.MethodPost {
		t.Errorf("%s %s to host %s with %s and %v", request.Method, got, request.Host, body, request.Header)
	}
}

func TestATextIsTheBodyOfAnotherContentType(t *testing.T) {
	const given = `"name=\"{{printf "%s" .name}}\""` // as a service file has it in JSON
	for contentType, want := range map[string]string{
		"application/x-www-form-urlencoded": `name="a%20b%26c"`, "text/plain; charset=utf-8": `name="a b&c"`, "application/json": `"name=\"a b&c\""`,
	} {
		call, err := service.OpenHTTP(service.Spec{
			HTTP: "POST", Path: "/", Data: given, Metadata: map[string][]string{"content-type": {contentType}}, From: map[string]string{"name": "login.name"},
		})
		if err != nil {
			t.Fatal(err)
		}
		request, err := call.For(t.Context(), "http://127.0.0.1:80", 0, service.Values{"name": "a b&c"})
		if err != nil {
			t.Fatal(err)
		}
		if body, err := io.ReadAll(request.Body); err != nil || string(body) != want || request.Header.Get("Content-Type") != contentType {
			t.Errorf("%s: the body is %s of %s (error %v), want %s", contentType, body, request.Header.Get("Content-Type"), err, want)
		}
	}
}

func TestHTTPResponsesAreJudged(t *testing.T) {
	for _, c := range []struct {
		spec    service.Spec
		status  int
		kind    string
		body    string
		backend string
		code    string
		message string
	}{
		{service.Spec{}, 200, "text/plain", "x", "1.2.3.4:5", "", ""},
		{service.Spec{}, 404, "text/plain", "none", "1.2.3.4:5", "HTTP_404", `HTTP 404: "none"`},
		{service.Spec{Check: "status == 404"}, 404, "text/plain", "none", "1.2.3.4:5", "", ""},
		{service.Spec{Check: "status == 200 && answer.total > 3"}, 200, "application/json", `{"total": 3}`, "1.2.3.4:5", "CHECK", "status == 200 && answer.total > 3 is false; the response was HTTP 200"},
		{service.Spec{Check: "answer.id > 3 && answer.id == 18446744073709551615u"}, 200, "application/json", `{"id": 18446744073709551615}`, "1.2.3.4:5", "", ""},
		{service.Spec{Check: "answer.id == 18446744073709551615u"}, 200, "application/json", `{"id": 18446744073709551614}`, "1.2.3.4:5", "CHECK", "is false"},
		{service.Spec{Check: "status == 200"}, 500, "application/json", `{}`, "1.2.3.4:5", "HTTP_500", "status == 200 is false"},
		{service.Spec{Check: "answer.total > 3"}, 200, "application/json", `{`, "1.2.3.4:5", "DATA_LOSS", "the body is not JSON"},
		{service.Spec{Check: `answer == "ok" && headers["x-pod"] == "a"`}, 200, "text/plain", "ok", "1.2.3.4:5", "", ""},
		{service.Spec{Check: "status == 204"}, 204, "application/json", "", "1.2.3.4:5", "", ""},
		{service.Spec{Check: "status == 200"}, 200, "application/json", "{", "1.2.3.4:5", "", ""},
		{service.Spec{Check: "answer == null"}, 200, "application/json", "", "1.2.3.4:5", "", ""},
		{service.Spec{Check: `answer.startsWith("{}")`}, 200, "application/x-ndjson", "{}\n{}\n", "1.2.3.4:5", "", ""},
		{service.Spec{Check: "answer.total == 1"}, 200, "application/problem+json; charset=utf-8", `{"total": 1}`, "1.2.3.4:5", "", ""},
		{service.Spec{Check: "answer.total > 3"}, 502, "application/json", "{", "1.2.3.4:5", "HTTP_502", "the body is not JSON"},
		{service.Spec{Identity: service.Identity{Field: "pod"}}, 502, "application/json", "{", "", "HTTP_502", "HTTP 502"},
		{service.Spec{Identity: service.Identity{Header: "x-pod"}}, 200, "text/plain", "", "a", "", ""},
		{service.Spec{Identity: service.Identity{Field: "server.name"}}, 200, "application/json", `{"server": {"name": "b"}}`, "b", "", ""},
		{service.Spec{Identity: service.Identity{Field: "id"}}, 200, "application/json", `{"id": 1048577}`, "1048577", "", ""},
	} {
		call, err := service.OpenHTTP(c.spec)
		if err != nil {
			t.Fatal(err)
		}
		backend, code, message := call.Judge(c.status, http.Header{"Content-Type": {c.kind}, "X-Pod": {"a"}}, []byte(c.body), "1.2.3.4:5")
		if backend != c.backend || code != c.code || !strings.Contains(message, c.message) {
			t.Errorf("%+v: %d %s: backend %q, code %q, %s; want %q, %q, %s", c.spec, c.status, c.body, backend, code, message, c.backend, c.code, c.message)
		}
	}
}

func TestWrongHeadersAreRejected(t *testing.T) {
	for key, want := range map[string]string{
		"host":              "metadata host: HTTP calls take it from authority: set authority in its place",
		"Content-length":    "metadata Content-length: rpclab sets this header itself: remove it",
		"transfer-encoding": "metadata transfer-encoding: rpclab sets this header itself: remove it",
	} {
		if _, err := service.OpenHTTP(service.Spec{HTTP: "GET", Path: "/", Metadata: map[string][]string{key: {"x"}}}); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", key, err, want)
		}
	}
	const want = "metadata user: {{.Worker}} is known to rpclab load only: use {{.Number}} or {{uuid}}"
	spec := service.Spec{HTTP: "GET", Path: "/", Metadata: map[string][]string{"user": {"u{{.Worker}}"}}}
	if _, err := service.OpenHTTP(spec); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}
