package publish

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	discovery "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"rpclab/internal/testkit"
)

const slicesPath = groupPath + "/namespaces/default/endpointslices"

// published is a history: no endpoint, then a and b, then b terminating.
func published(size int) *history {
	h := newHistory(greeter, size)
	h.put(snapshot(0))
	h.put(snapshot(1, ready("a", 0), ready("b", 1)))
	leaving := ready("b", 1)
	leaving.Terminating = true
	h.put(snapshot(2, ready("a", 0), leaving))
	return h
}

func get(h http.Handler, method, path string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(method, path, nil))
	return w
}

func TestListOfSlices(t *testing.T) {
	w := get(handler(published(historySize)), "GET", slicesPath+"?labelSelector=kubernetes.io/service-name=greeter")
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, w.Body.Bytes(), "", "  "); err != nil {
		t.Fatal(err)
	}
	testkit.Golden(t, "list.json", pretty.String())
}

func TestListSelectsByLabelFieldAndNamespace(t *testing.T) {
	api := handler(published(historySize))
	for path, want := range map[string]int{
		slicesPath: 1,
		slicesPath + "?labelSelector=kubernetes.io/service-name=greeter": 1,
		slicesPath + "?labelSelector=kubernetes.io/service-name=other":   0,
		slicesPath + "?labelSelector=kubernetes.io/service-name":         1,
		slicesPath + "?fieldSelector=metadata.name%3Dgreeter-1":          1,
		slicesPath + "?fieldSelector=metadata.name%3Dgreeter-2":          0,
		slicesPath + "?resourceVersion=0":                                1,
		slicesPath + "?resourceVersion=3":                                1,
		slicesPath + "?watch=false":                                      1,
		groupPath + "/endpointslices":                                    1,
		groupPath + "/namespaces/elsewhere/endpointslices":               0,
	} {
		w := get(api, "GET", path)
		var list discovery.EndpointSliceList
		if err := json.Unmarshal(w.Body.Bytes(), &list); err != nil || w.Code != http.StatusOK {
			t.Fatalf("%s: %d, %v", path, w.Code, err)
		}
		if len(list.Items) != want || list.ResourceVersion != "3" || list.Items == nil {
			t.Errorf("%s: %d slices at version %s, want %d at version 3", path, len(list.Items), list.ResourceVersion, want)
		}
	}
}

func TestOtherPathsOfTheAPIServer(t *testing.T) {
	api := handler(published(historySize))
	for path, want := range map[string]string{
		"/readyz":                 `ok`,
		"/version":                `"minor":"34"`,
		groupPath:                 `"kind":"APIResourceList"`,
		slicesPath + "/greeter-1": `"kind":"EndpointSlice","apiVersion":"discovery.k8s.io/v1","metadata":{"name":"greeter-1"`,
	} {
		if w := get(api, "GET", path); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: status %d and body %s, want 200 and %s in the body", path, w.Code, w.Body, want)
		}
	}
}

func TestErrorsAreStatusObjects(t *testing.T) {
	api := handler(published(historySize))
	for _, test := range []struct {
		method, path string
		code         int32
		reason       metav1.StatusReason
	}{
		{"POST", slicesPath, 405, metav1.StatusReasonMethodNotAllowed},
		{"DELETE", slicesPath + "/greeter-1", 405, metav1.StatusReasonMethodNotAllowed},
		{"GET", slicesPath + "/greeter-9", 404, metav1.StatusReasonNotFound},
		{"GET", groupPath + "/namespaces/elsewhere/endpointslices/greeter-1", 404, metav1.StatusReasonNotFound},
		{"GET", "/api/v1/pods", 404, metav1.StatusReasonNotFound},
		{"GET", slicesPath + "?labelSelector=%3D%3D", 400, metav1.StatusReasonBadRequest},
		{"GET", slicesPath + "?fieldSelector=spec.x%3D1", 400, metav1.StatusReasonBadRequest},
		{"GET", slicesPath + "?fieldSelector=x", 400, metav1.StatusReasonBadRequest},
		{"GET", slicesPath + "?watch=1&resourceVersion=new", 400, metav1.StatusReasonBadRequest},
		{"GET", slicesPath + "?watch=1&timeoutSeconds=soon", 400, metav1.StatusReasonBadRequest},
		{"GET", slicesPath + "?resourceVersion=99", 504, metav1.StatusReasonTimeout},
	} {
		w := get(api, test.method, test.path)
		var s metav1.Status
		if err := json.Unmarshal(w.Body.Bytes(), &s); err != nil {
			t.Fatalf("%s %s: %v", test.method, test.path, err)
		}
		if w.Code != int(test.code) || s.Kind != "Status" || s.Code != test.code || s.Reason != test.reason || s.Message == "" {
			t.Errorf("%s %s: HTTP %d, %+v, want %d %s", test.method, test.path, w.Code, s, test.code, test.reason)
		}
	}
}
