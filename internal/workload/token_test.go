package workload_test

import (
	"io"
	"net"
	"net/http"
	"testing"

	"google.golang.org/grpc/codes"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	rpclabv1 "rpclab/api/rpclab/v1"
	"rpclab/internal/workload"
)

func TestCallsAndScrapesNeedTheToken(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	channel, _, _ := serve(t, &workload.Server{ID: "b1", Token: "secret", Metrics: listener})
	for header, want := range map[string]codes.Code{"": codes.Unauthenticated, "Bearer secre": codes.Unauthenticated, "secret": codes.Unauthenticated, "Bearer secret": codes.OK} {
		ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", header)
		if _, _, err := greet(ctx, channel); status.Code(err) != want {
			t.Errorf("with authorization %q a call gets %v, want %v", header, err, want)
		}
		stream, err := rpclabv1.NewGreeterClient(channel).Greetings(ctx)
		if err == nil {
			err = stream.CloseSend()
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err = stream.Recv(); want != codes.OK && status.Code(err) != want || want == codes.OK && err != io.EOF {
			t.Errorf("with authorization %q a stream gets %v, want %v", header, err, want)
		}
	}
	if _, err := healthv1.NewHealthClient(channel).Check(t.Context(), &healthv1.HealthCheckRequest{}); err != nil {
		t.Errorf("without the token a health check gets %v, want no error", err)
	}
	client := httpClient(t, false)
	if got, _, _ := ask(t, client, http.MethodGet, "http://"+listener.Addr().String()+"/metrics", ""); got != http.StatusUnauthorized {
		t.Errorf("without the token a scrape gets status %d, want 401", got)
	}
}

func TestRequestsNeedTheToken(t *testing.T) {
	url, _ := serveREST(t, &workload.Server{ID: "b1", Token: "secret"})
	client := httpClient(t, false)
	if got, id, _ := ask(t, client, http.MethodPost, url+"/greet", `{"name":"you"}`); got != http.StatusUnauthorized || id != "b1" {
		t.Errorf("without the token a request gets status %d from %q, want 401 from b1", got, id)
	}
	if got, _, _ := ask(t, client, http.MethodGet, url+"/healthz", ""); got != http.StatusOK {
		t.Errorf("without the token a health check gets status %d, want 200", got)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/nowhere", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer secret")
	answer, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusNotFound {
		t.Errorf("with the token a request gets status %d, want 404", answer.StatusCode)
	}
}
