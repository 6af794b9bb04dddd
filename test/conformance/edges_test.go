package conformance

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	_ "google.golang.org/grpc/encoding/gzip" // registers the compressor
	"google.golang.org/grpc/status"

	rpclabv1 "rpclab/api/rpclab/v1"
	"rpclab/internal/process"
	"rpclab/internal/testkit"
	"rpclab/internal/workload"
)

// These functions check edge cases of servers/CONTRACT.md.

func handlesEdgeCases(t *testing.T, p *process.Process, c contact, out *said) {
	t.Helper()
	if err := greeted(t.Context(), t, c); err != nil {
		t.Error(err)
	}
	calls, orders := 1, 0
	counted := func(what string) {
		t.Helper()
		order(t, p, `{"count": true}`)
		orders++
		testkit.Await(t, "it has counted "+what, func() bool { return strings.Count(out.String(), "\n") == orders })
		if n := strings.Fields(out.String())[orders-1]; n != fmt.Sprint(calls) {
			t.Errorf("after %s the server counts %s calls, want %d", what, n, calls)
		}
	}
	if _, _, err := increase(t.Context(), c, math.MaxUint32); err == nil {
		t.Error("there is a number after the last one")
	}
	calls++
	counted("a call that is refused")
	if rest, ok := c.(overREST); ok {
		calls += acceptsJSON(t, rest)
		counted("requests in JSON")
		rejectsInvalidBodies(t, rest)
		counted("what is no message")
		order(t, p, `{"fault": {"slow": 50000000}}`)
		counted("the calls before it is slow") // which says that it has heard the order
		calls += answersPipelinedRequests(t, rest)
		counted("pipelined requests")
	} else {
		name := strings.Repeat("you", 1000)
		reply, err := rpclabv1.NewGreeterClient(c.(overGRPC).channel).SayHello(t.Context(), &rpclabv1.HelloRequest{Name: name}, grpc.UseCompressor("gzip"))
		if err != nil || reply.Message != "Hello, "+name {
			t.Errorf("the answer to a gzip message is %.40q, error %v", reply.GetMessage(), err)
		}
		calls++
	}
	for code, want := range map[codes.Code]int{codes.Unavailable: 503, codes.Internal: 500, codes.DeadlineExceeded: 500, codes.InvalidArgument: 400} {
		order(t, p, fmt.Sprintf(`{"fault": {"code": %d}}`, code))
		counted(fmt.Sprint("the calls before it fails with ", code)) // which says that it has heard the order
		calls++
		if rest, ok := c.(overREST); ok {
			if got := rest.request(t, "POST", "/increase", "application/json", `{"value": 1}`); got.status != want || !got.refused() {
				t.Errorf("after the command to fail with %v: answer %+v", code, got)
			}
		} else if _, id, err := increase(t.Context(), c, 1); status.Code(err) != code || id != "b" {
			t.Errorf("after the command to fail with %v: error %v of %q", code, err, id)
		}
	}
	counted("calls that fail")
	order(t, p, `{"fault": {"code": 14, "share": 0.5}}`)
	counted("the calls before a share fails")
	const drawn = 60
	failed := 0
	for range drawn {
		if _, _, err := increase(t.Context(), c, 1); err != nil {
			failed++
		}
	}
	if calls += drawn; failed < drawn/6 || failed > drawn*5/6 { // 5 standard deviations
		t.Errorf("%d of %d calls failed, want about half", failed, drawn)
	}
	counted("calls of which a share fails")
}

// acceptsJSON returns the number of calls that it made.
func acceptsJSON(t *testing.T, c overREST) (calls int) {
	t.Helper()
	for _, media := range []string{"application/json", "application/json; charset=utf-8", "text/plain", ""} {
		got := c.request(t, "POST", "/increase", media, ` {"value": 1} `)
		switch right := got.status == 200 && got.media == "application/json" && got.id == "b"; {
		case right:
			calls++
		case strings.HasPrefix(media, "application/json") || got.status != 415:
			t.Errorf("content type %q: answer %+v", media, got)
		}
	}
	for of, want := range map[string]int{"GET /increase": 405, "HEAD /increase": 405, "PUT /increase": 405, "POST /nowhere": 404, "POST /healthz": 405, "HEAD /healthz": 200} {
		method, path, _ := strings.Cut(of, " ")
		if got := c.request(t, method, path, "application/json", `{"value": 1}`); got.status != want || got.id != "b" {
			t.Errorf("%s: %+v, want %d", of, got, want)
		}
	}
	if got := c.request(t, "OPTIONS", "/increase", "", ""); got.id != "b" || got.status != 405 && got.status != 200 && got.status != 204 {
		t.Errorf("OPTIONS: %+v", got)
	}
	return calls
}

// answersPipelinedRequests sends requests before earlier ones are answered, and a request when all are. It
// returns the number of calls that it made. The first request is slow, so that the others queue. The last are more than
// Tomcat answers on a connection by default.
func answersPipelinedRequests(t *testing.T, c overREST) (calls int) {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(c.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(answerWithin)); err != nil {
		t.Fatal(err)
	}
	const (
		slow = "POST /increase HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 11\r\n\r\n" + `{"value":1}`
		fast = "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n"
	)
	answers := bufio.NewReader(conn)
	for _, requests := range []string{slow + fast + fast, fast, strings.Repeat(fast, 100)} {
		if _, err := io.WriteString(conn, requests); err != nil {
			t.Fatal(err)
		}
		for n := range strings.Count(requests, "Host:") {
			answer, err := http.ReadResponse(answers, nil)
			if err != nil {
				t.Errorf("pipelined requests %q: response %d: %v", requests, n+1, err)
				return 1
			}
			if _, err := io.Copy(io.Discard, answer.Body); err != nil || answer.StatusCode != http.StatusOK {
				t.Errorf("pipelined requests %q: response %d: %s, %v", requests, n+1, answer.Status, err)
			}
		}
	}
	return 1
}

func rejectsInvalidBodies(t *testing.T, c overREST) {
	t.Helper()
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := io.WriteString(w, `{"value": 1}`); err != nil || w.Close() != nil {
		t.Fatal(err)
	}
	for _, body := range []string{
		`{"value": 1} x`, `{"value": 1}{"value": 2}`, `{"value": 1},`, `{"value": [1]}`, `{"value": {}}`, `[{"value": 1}]`, `"value"`, `1`, `null`,
		`{"value": 1e400}`, `{value: 1}`, `{'value': 1}`, "{\"value\": 1\x00}", `{"value": 01}`, `{"value": NaN}`, `{"value": "1"}`, `{"value": true}`,
		strings.Repeat("[", 100_000), strings.Repeat(`{"value":`, 100_000), strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000), packed.String(),
		strings.Repeat(" ", 15<<20) + "[]",
	} {
		if got := c.request(t, "POST", "/increase", "application/json", body); got.status != 400 || !got.refused() {
			t.Errorf("%.40q: %+v", body, got)
		}
	}
	// A server may reject a long body and close the connection before it has received all of it.
	ask, err := http.NewRequestWithContext(t.Context(), "POST", c.url+"/increase", strings.NewReader(strings.Repeat(" ", 17<<20)+"[]"))
	if err != nil {
		t.Fatal(err)
	}
	ask.Header.Set("Content-Type", "application/json")
	if answer, err := c.transport.RoundTrip(ask); err == nil {
		if answer.StatusCode != 400 && answer.StatusCode != 413 || answer.Header.Get(workload.BackendHeader) != "b" {
			t.Errorf("17 MiB: %s by %q", answer.Status, answer.Header.Get(workload.BackendHeader))
		}
		_ = answer.Body.Close()
	}
}

// got is a REST answer.
type got struct {
	status          int
	id, media, body string
}

// refused reports whether the answer is an error with a reason.
func (g got) refused() bool {
	var why struct{ Error string }
	err := json.Unmarshal([]byte(g.body), &why)
	return err == nil && why.Error != "" && g.media == "application/json" && g.id == "b"
}

func (c overREST) request(t *testing.T, method, path, media, body string) (g got) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, c.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if media != "" {
		r.Header.Set("Content-Type", media)
	}
	answer, err := c.transport.RoundTrip(r)
	if err != nil {
		t.Errorf("%s %s %.40q: %v", method, path, body, err)
		return g
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Error(err)
	}
	return got{answer.StatusCode, answer.Header.Get(workload.BackendHeader), answer.Header.Get("Content-Type"), string(text)}
}
