// Package security attacks a real server: it must reject and count each attack, and continue to serve.
package security

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	rpclabv1 "rpclab/api/rpclab/v1"
	"rpclab/internal/process"
	"rpclab/internal/security"
	"rpclab/internal/testkit"
	"rpclab/internal/workload"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// server is a server process with the authority that it trusts.
type server struct {
	addr, metrics, keys string
	policy              security.Policy
	authority           *security.Authority
}

// everything is a policy with mutual TLS, tokens and signatures.
var everything = security.Policy{Transport: security.MTLS, Tokens: true, Signing: true}

func free(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func start(t *testing.T, policy security.Policy) *server {
	t.Helper()
	s := &server{addr: free(t), metrics: free(t), keys: filepath.Join(t.TempDir(), "keys"), policy: policy}
	args := []string{testkit.Rpclab(t), "server", "--id", "b", "--listen", s.addr, "--metrics", s.metrics, "--security", policy.Transport, "--keys", s.keys}
	if policy.Tokens {
		args = append(args, "--jwt")
	}
	if policy.Signing {
		args = append(args, "--signing")
	}
	p, err := process.Start(process.Spec{Args: args})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Signal(os.Interrupt); err != nil {
			t.Error(err)
		}
		<-p.Done()
		if p.Err() != nil {
			t.Errorf("the server ended with %v:\n%s", p.Err(), p.Log())
		}
		if _, err := os.Stat(s.keys); !os.IsNotExist(err) {
			t.Errorf("the key file still exists: %v", err)
		}
	})
	testkit.Await(t, "the server listens", func() bool {
		conn, err := net.Dial("tcp", s.addr)
		if err == nil {
			err = conn.Close()
		}
		return err == nil
	})
	if info, err := os.Stat(s.keys); err != nil {
		t.Error(err)
	} else if info.Mode() != 0o600 {
		t.Errorf("the key file has mode %v, want 0600", info.Mode())
	}
	if s.authority, _, err = security.Load(s.keys); err != nil {
		t.Fatal(err)
	}
	return s
}

// refused returns the number of rejected messages for a reason.
func (s *server) refused(t *testing.T, reason security.Reason) int {
	t.Helper()
	answer, err := http.Get("http://" + s.metrics + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer http.DefaultClient.CloseIdleConnections()
	defer answer.Body.Close()
	want := `rpclab_refused_total{reason="` + string(reason) + `"} `
	for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
		if value, is := strings.CutPrefix(lines.Text(), want); is {
			n, err := strconv.Atoi(value)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatalf("%s is not counted", reason)
	return 0
}

// client calls the server; tests change its fields for attacks.
type client struct {
	rpclabv1.CalculatorServiceClient
	keys   security.Keys
	signer *security.Signer
}

func (s *server) keysOf(t *testing.T, name string) security.Keys {
	t.Helper()
	keys, err := s.authority.Client(name, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

// client connects with these keys.
func (s *server) client(t *testing.T, keys security.Keys) *client {
	t.Helper()
	credentials, err := security.Config{Policy: s.policy, Keys: keys}.ClientCredentials()
	if err != nil {
		t.Fatal(err)
	}
	channel, err := grpc.NewClient("passthrough:///"+s.addr, grpc.WithTransportCredentials(credentials))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = channel.Close() })
	signer, err := keys.NewSigner()
	if err != nil {
		t.Fatal(err)
	}
	return &client{rpclabv1.NewCalculatorServiceClient(channel), keys, signer}
}

// token returns a valid token of the client.
func (c *client) token(t *testing.T, audience string, life time.Duration) string {
	t.Helper()
	tokens, err := c.keys.NewTokens()
	if err != nil {
		t.Fatal(err)
	}
	token, err := tokens.Issue(audience, life)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// message returns a signed request.
func (c *client) message(t *testing.T, id, operation string) []byte {
	t.Helper()
	signed, err := c.signer.Sign([]byte(`{"id": "` + id + `", "x": 20, "y": 22, "operation": "` + operation + `"}`))
	if err != nil {
		t.Fatal(err)
	}
	return signed
}

// ask sends a message on a new bidirectional stream, as this client with this token.
func (c *client) ask(ctx context.Context, name, token string, message []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	ctx = metadata.AppendToOutgoingContext(ctx, security.ClientKey, name)
	if token != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, security.TokenKey, security.Bearer+token)
	}
	stream, err := c.PerformCalculationBi(ctx)
	if err != nil {
		return nil, err
	}
	_ = stream.Send(&rpclabv1.Calculation{Signed: message}) // where it fails, the answer says why
	answer, err := stream.Recv()
	return answer.GetSigned(), err
}

// honest checks that the server still answers a valid request.
func (s *server) honest(t *testing.T, name string) {
	t.Helper()
	c := s.client(t, s.keysOf(t, name))
	signed, err := c.ask(t.Context(), name, c.token(t, security.Audience, time.Hour), c.message(t, workload.MessageID(name, 0), workload.Add))
	if err != nil {
		t.Fatalf("an honest client is answered with %v", err)
	}
	verifier, err := c.keys.NewVerifier()
	if err != nil {
		t.Fatal(err)
	}
	content, by, err := verifier.Verify(signed)
	want := `{"id":"` + name + `/0","x":20,"y":22,"operation":"add","result":42,"isPrime":false}`
	if err != nil || by != security.ServerName || string(content) != want {
		t.Errorf("a valid request was answered with %s, signed by %q, error %v", content, by, err)
	}
}
