package telemetry

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

const (
	mostOfResponse = 4 << 20 // bytes that are read
	mostOfError    = 200     // bytes of a response that an error has
)

// NewClient returns a client for [Post]. It follows no redirect that would make a GET of a POST, because the answer to
// that would look like one to the body. secure may be nil.
func NewClient(secure *tls.Config) *http.Client {
	const mostRedirects = 10 // as Go's own client
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = secure
	return &http.Client{Transport: transport, CheckRedirect: func(next *http.Request, via []*http.Request) error {
		if next.Method != http.MethodPost || len(via) >= mostRedirects {
			return http.ErrUseLastResponse
		}
		return nil
	}}
}

// Post sends a body and returns that of the response. An error that a later request may not have is [Temporary].
func Post(ctx context.Context, client *http.Client, to string, header http.Header, body []byte) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header = header
	response, err := client.Do(request)
	var failed *url.Error
	if errors.As(err, &failed) {
		return nil, Temporary{Reason: failed.Err} // without the URL, which may have a password
	} else if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, mostOfResponse))
	switch code := response.StatusCode; {
	case code/100 == 2:
		return text, err
	case code == http.StatusTooManyRequests || code/100 == 5 && code != http.StatusNotImplemented:
		return nil, Temporary{Reason: errors.New(refusal(response.Status, text))}
	case code/100 == 3:
		return nil, errors.New(response.Status + redirect(response))
	default:
		return nil, errors.New(refusal(response.Status, text))
	}
}

// redirect says where a response points to, without a user and a query, which may have secrets.
func redirect(response *http.Response) string {
	to, err := response.Location()
	if err != nil {
		return ""
	}
	to.User, to.RawQuery, to.Fragment = nil, "", ""
	return fmt.Sprintf(": it redirects to %s and did not take the data; use the URL of the receiver itself", to)
}

// refusal is the status of a response with the start of its text.
func refusal(status string, text []byte) string {
	said := strings.Join(strings.Fields(strings.ToValidUTF8(string(text[:min(len(text), mostOfError)]), "")), " ")
	if said == "" {
		return status
	}
	return status + ": " + said
}

// ParseHeaders parses headers in the form of [ParsePairs].
func ParseHeaders(text string) (http.Header, error) {
	pairs, err := ParsePairs(text)
	header := http.Header{}
	for name, value := range pairs {
		header.Set(name, value)
	}
	return header, err
}

// ParsePairs parses pairs as OpenTelemetry's environment variables have them: name=value,name=value. Values are
// percent-encoded.
func ParsePairs(text string) (map[string]string, error) {
	pairs := map[string]string{}
	for pair := range strings.SplitSeq(text, ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		name, value, ok := strings.Cut(pair, "=")
		decoded, err := url.PathUnescape(strings.TrimSpace(value))
		if name = strings.TrimSpace(name); !ok || name == "" || err != nil {
			return nil, errors.New("write name=value, with commas between, and values percent-encoded")
		}
		pairs[name] = decoded
	}
	return pairs, nil
}
