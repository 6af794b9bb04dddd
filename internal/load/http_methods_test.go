package load

import "testing"

func TestEveryRESTMethodIsAnswered(t *testing.T) {
	for _, method := range httpMethods {
		for _, http2 := range []bool{false, true} {
			server := newSite(t, false)
			s := rest(server.URL + "/")
			s.HTTP, s.HTTP2 = method, http2
			if a := measureCalls(t, s); a.Calls != 20 || len(a.Errors) > 0 {
				t.Errorf("%s, HTTP/2 %v: %d calls, errors %v %v; want 20 calls without errors", method, http2, a.Calls, a.Errors, a.Samples)
			}
		}
	}
}
