package slicewatch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"

	discovery "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

const bookmark = watch.Bookmark

// watchTime is the shortest time a watch is asked to last, in seconds; the longest
// is twice that, so that clients do not renew together (client-go's reflector).
const watchTime = 300

// event is one line of a watch.
type event struct {
	Type   watch.EventType `json:"type"`
	Object json.RawMessage `json:"object"`
}

func (w Watch) list(ctx context.Context) (list discovery.EndpointSliceList, err error) {
	body, err := w.get(ctx, url.Values{})
	if err != nil {
		return list, fmt.Errorf("list endpointslices of %s/%s: %w", w.Namespace, w.Service, err)
	}
	defer body.Close()
	if err := json.NewDecoder(body).Decode(&list); err != nil {
		return list, fmt.Errorf("list endpointslices of %s/%s: %w", w.Namespace, w.Service, err)
	}
	return list, nil
}

// watch calls see with every event after version. It returns nil when the server
// ended the watch.
func (w Watch) watch(ctx context.Context, version string, see func(event) error) error {
	body, err := w.get(ctx, url.Values{
		"watch":               {"true"},
		"resourceVersion":     {version},
		"allowWatchBookmarks": {"true"},
		"timeoutSeconds":      {strconv.Itoa(watchTime + rand.IntN(watchTime))},
	})
	if err != nil {
		return fmt.Errorf("watch endpointslices of %s/%s: %w", w.Namespace, w.Service, err)
	}
	defer body.Close()
	for lines := json.NewDecoder(body); ; {
		var e event
		err := lines.Decode(&e)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = see(e)
		}
		if err != nil {
			return fmt.Errorf("watch endpointslices of %s/%s from version %s: %w", w.Namespace, w.Service, version, err)
		}
	}
}

// get asks for the slices of the service.
func (w Watch) get(ctx context.Context, query url.Values) (io.ReadCloser, error) {
	query.Set("labelSelector", discovery.LabelServiceName+"="+w.Service)
	at := fmt.Sprintf("%s/apis/discovery.k8s.io/v1/namespaces/%s/endpointslices?%s", w.API, url.PathEscape(w.Namespace), query.Encode())
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "application/json")
	response, err := w.Client.Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		defer response.Body.Close()
		var s metav1.Status
		if json.NewDecoder(io.LimitReader(response.Body, 1<<20)).Decode(&s) != nil || s.Code == 0 {
			s = metav1.Status{Code: int32(response.StatusCode), Message: response.Status} // a proxy's page, say
		}
		return nil, refusal(s)
	}
	return response.Body, nil
}

// refusal is the API server's error as ours.
func refusal(s metav1.Status) error {
	if s.Code == http.StatusGone || s.Reason == metav1.StatusReasonExpired || s.Reason == metav1.StatusReasonGone {
		return fmt.Errorf("%w: %s", errExpired, s.Message)
	}
	return fmt.Errorf("API server: %d %s: %s", s.Code, s.Reason, s.Message)
}
