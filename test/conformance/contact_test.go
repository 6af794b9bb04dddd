package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	rpclabv1 "rpclab/api/rpclab/v1"
	"rpclab/internal/language"
	"rpclab/internal/workload"
)

// contact calls a server by gRPC or REST.
type contact interface {
	// call makes one call and returns the identity of the backend. An error has a gRPC code; for
	// REST, INVALID_ARGUMENT for status 400 and UNAVAILABLE for 503.
	call(ctx context.Context, method, path string, request, reply proto.Message) (id string, err error)
	serving(ctx context.Context) (bool, error)
}

// answerWithin is the deadline of a call, so that a server that never answers fails its test alone.
const answerWithin = 2 * time.Minute

// contactTo returns the contact for a server model.
func contactTo(t *testing.T, m language.Model, addr string) contact {
	t.Helper()
	if m.REST {
		transport := &http.Transport{}
		t.Cleanup(transport.CloseIdleConnections)
		return overREST{"http://" + addr, transport}
	}
	channel, err := grpc.NewClient("passthrough:///"+addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { channel.Close() })
	return overGRPC{channel}
}

type overGRPC struct{ channel *grpc.ClientConn }

func (c overGRPC) call(ctx context.Context, method, _ string, request, reply proto.Message) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	var trailer metadata.MD
	err := c.channel.Invoke(ctx, method, request, reply, grpc.Trailer(&trailer))
	ids := trailer[workload.BackendTrailer]
	if len(ids) != 1 {
		return fmt.Sprintf("%d identities", len(ids)), err
	}
	return ids[0], err
}

func (c overGRPC) serving(ctx context.Context) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	answer, err := healthv1.NewHealthClient(c.channel).Check(ctx, &healthv1.HealthCheckRequest{})
	return answer.GetStatus() == healthv1.HealthCheckResponse_SERVING, err
}

type overREST struct {
	url       string
	transport *http.Transport
}

func (c overREST) call(ctx context.Context, _, path string, request, reply proto.Message) (string, error) {
	body, err := json.Marshal(request)
	if err != nil {
		return "", err
	}
	code, id, said, err := c.ask(ctx, http.MethodPost, path, body)
	switch {
	case err != nil:
		return id, err
	case code == http.StatusOK:
		return id, json.Unmarshal(said, reply)
	}
	var why struct{ Error string }
	if err := json.Unmarshal(said, &why); err != nil || why.Error == "" {
		return id, fmt.Errorf("status %d without a reason: %s", code, said)
	}
	of := map[int]codes.Code{400: codes.InvalidArgument, 503: codes.Unavailable}[code]
	if of == codes.OK {
		return id, fmt.Errorf("status %d: %s", code, why.Error)
	}
	return id, status.Error(of, why.Error)
}

func (c overREST) serving(ctx context.Context) (bool, error) {
	code, _, _, err := c.ask(ctx, http.MethodGet, "/healthz", nil)
	return code == http.StatusOK, err
}

// ask makes one request and returns status, identity and body of the answer.
func (c overREST) ask(ctx context.Context, method, path string, body []byte) (code int, id string, said []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, c.url+path, bytes.NewReader(body))
	if err != nil {
		return 0, "", nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	answer, err := c.transport.RoundTrip(request)
	if err != nil {
		return 0, "", nil, err
	}
	defer answer.Body.Close()
	said, err = io.ReadAll(answer.Body)
	return answer.StatusCode, answer.Header.Get(workload.BackendHeader), said, err
}

// increase requests the number after n.
func increase(ctx context.Context, c contact, n uint32) (after uint32, id string, err error) {
	var reply rpclabv1.Number
	id, err = c.call(ctx, rpclabv1.Chain_Increase_FullMethodName, "/increase", &rpclabv1.Number{Value: n}, &reply)
	return reply.Value, id, err
}
