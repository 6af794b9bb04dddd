package telemetry

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
)

func TestPostSaysWhichFailuresMayPass(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		body, _ := io.ReadAll(r.Body)
		if user != "me" || password != "secret" || string(body) != "text" || r.Header.Get("X-Scope") != "a" {
			t.Errorf("received %q of %s:%s with %v", body, user, password, r.Header)
		}
		var code int
		fmt.Sscan(strings.TrimPrefix(r.URL.Path, "/"), &code)
		if code/100 == 3 {
			w.Header().Set("Location", "/200?token=secret")
		}
		w.WriteHeader(code)
		fmt.Fprint(w, "because\n of \xff this")
	}))
	defer server.Close()
	client := NewClient(nil)
	defer client.CloseIdleConnections()
	elsewhere := ": it redirects to " + server.URL + "/200 and did not take the data; use the URL of the receiver itself"
	at := strings.Replace(server.URL, "http://", "http://me:secret@", 1)
	for code, want := range map[int]struct {
		temporary bool
		text      string
	}{
		200: {}, 204: {}, 307: {}, 308: {},
		301: {false, "301 Moved Permanently" + elsewhere}, 302: {false, "302 Found" + elsewhere}, 303: {false, "303 See Other" + elsewhere},
		400: {false, "400 Bad Request: because of this"}, 401: {false, "401 Unauthorized: because of this"},
		429: {true, "429 Too Many Requests: because of this"}, 500: {true, "500 Internal Server Error: because of this"}, 503: {true, "503 Service Unavailable: because of this"},
	} {
		_, err := Post(t.Context(), client, fmt.Sprint(at, "/", code), http.Header{"X-Scope": {"a"}}, []byte("text"))
		if _, temporary := errors.AsType[Temporary](err); temporary != want.temporary || (want.text == "") != (err == nil) || err != nil && err.Error() != want.text {
			t.Errorf("%d: %v, temporary: %v, want %+v", code, err, temporary, want)
		}
	}
	server.Close()
	if _, err := Post(t.Context(), client, at, http.Header{}, nil); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("the error is %v, want one without the password", err)
	}
}

func TestParsePairs(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]map[string]string{
		"":    {},
		"a=b": {"a": "b"},
		" Authorization = Bearer%20x%3D , b=c=d,": {"Authorization": "Bearer x=", "b": "c=d"},
		"a":     nil,
		"=b":    nil,
		"a=%zz": nil,
	} {
		if got, err := ParsePairs(text); !reflect.DeepEqual(got, want) || (want == nil) != (err != nil) {
			t.Errorf("%q: %v, %v, want %v", text, got, err, want)
		}
	}
}
