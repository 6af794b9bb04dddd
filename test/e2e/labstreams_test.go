package e2e

import (
	"context"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/smallstep/pkcs7"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/emptypb"

	"rpclab/api/studies/streams"
)

// studyClient is the client of the streams study: its files, credentials and messages.
type studyClient struct {
	streams.CalculatorServiceClient
	signer *x509.Certificate
	key    *rsa.PrivateKey
	roots  *x509.CertPool
	token  string
}

func newStudyClient(t *testing.T, dir string, port int) *studyClient {
	t.Helper()
	read := func(name string) []byte {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	certificate, err := tls.X509KeyPair(read("certs/client.crt"), read("certs/client.key"))
	if err != nil {
		t.Fatal(err)
	}
	c := &studyClient{roots: x509.NewCertPool()}
	c.roots.AppendCertsFromPEM(read("certs/ca.crt"))
	secure := credentials.NewTLS(&tls.Config{Certificates: []tls.Certificate{certificate}, RootCAs: c.roots, ServerName: "localhost"})
	channel, err := grpc.NewClient("passthrough:///127.0.0.1:"+strconv.Itoa(port), grpc.WithTransportCredentials(secure))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { channel.Close() })
	c.CalculatorServiceClient = streams.NewCalculatorServiceClient(channel)
	signing, err := tls.X509KeyPair(read("cms/signer.crt"), read("cms/signer.key"))
	if err != nil {
		t.Fatal(err)
	}
	c.key = signing.PrivateKey.(*rsa.PrivateKey)
	if c.signer, err = x509.ParseCertificate(signing.Certificate[0]); err != nil {
		t.Fatal(err)
	}
	key, err := jwt.ParseRSAPrivateKeyFromPEM(read("jwt/jwt.key"))
	if err != nil {
		t.Fatal(err)
	}
	if public, _ := pem.Decode(read("jwt/jwt.pub")); public == nil {
		t.Error("jwt/jwt.pub is not PEM")
	}
	c.token, err = jwt.NewWithClaims(jwt.SigningMethodRS256, jwt.MapClaims{"sub": "myClient", "iat": time.Now().Unix(), "exp": time.Now().Add(time.Hour).Unix()}).SignedString(key)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (c *studyClient) outgoing(t *testing.T) context.Context {
	return metadata.NewOutgoingContext(t.Context(), metadata.Pairs("clientid", "myClient", "authorization", "Bearer "+c.token))
}

// message is message n of the study's client.
func (c *studyClient) message(t *testing.T, n int) *streams.CalcMessage {
	t.Helper()
	text, _ := json.Marshal(map[string]any{"id": n, "x": 3, "y": 1, "operation": "isprime", "result": 0, "isPrime": false})
	signed, err := pkcs7.NewSignedData(text)
	if err != nil {
		t.Fatal(err)
	}
	signed.SetDigestAlgorithm(pkcs7.OIDDigestAlgorithmSHA256)
	if err := signed.AddSigner(c.signer, c.key, pkcs7.SignerInfoConfig{}); err != nil {
		t.Fatal(err)
	}
	payload, err := signed.Finish()
	if err != nil {
		t.Fatal(err)
	}
	return &streams.CalcMessage{Payload: payload}
}

// check verifies the signature and the content of an answer.
func (c *studyClient) check(t *testing.T, answer *streams.CalcMessage, n int) {
	t.Helper()
	signed, err := pkcs7.Parse(answer.GetPayload())
	if err != nil {
		t.Fatal(err)
	}
	if err := signed.VerifyWithChain(c.roots); err != nil {
		t.Errorf("answer %d: %v", n, err)
	}
	if want := fmt.Sprintf(`{"id":%d,"x":3,"y":1,"operation":"isprime","result":0,"isPrime":true}`, n); string(signed.Content) != want {
		t.Errorf("answer %d is %s, want %s", n, signed.Content, want)
	}
}

func TestLabUpStreamsServesTheStudysClient(t *testing.T) {
	t.Parallel()
	port, dir := unusedPorts(t, 1), filepath.Join(t.TempDir(), "keys")
	lab, _, _ := labUp(t, 2, "streams", "--port", strconv.Itoa(port), "--keys-dir", dir)
	client := newStudyClient(t, dir, port)
	answers, err := client.PerformCalculationFrom(client.outgoing(t), &emptypb.Empty{})
	if err != nil {
		t.Fatal(err)
	}
	both, err := client.PerformCalculationBi(client.outgoing(t))
	if err != nil {
		t.Fatal(err)
	}
	for n := range 5 {
		if _, err := client.PerformCalculationTo(client.outgoing(t), client.message(t, n)); err != nil {
			t.Fatal(err)
		}
		answer, err := answers.Recv()
		if err != nil {
			t.Fatal(err)
		}
		client.check(t, answer, n)
		if err := both.Send(client.message(t, n)); err != nil {
			t.Fatal(err)
		}
		if answer, err = both.Recv(); err != nil {
			t.Fatal(err)
		}
		client.check(t, answer, n)
	}
	if err := both.CloseSend(); err != nil {
		t.Fatal(err)
	}
	// The command of the study's README.
	for mode, workers := range map[string]string{"bidirectional": "1", "unary": "3"} {
		s := rpclab(t, "load", "--keys", filepath.Join(dir, "keys.json"), fmt.Sprintf("-host=127.0.0.1:%d", port), "-mode="+mode, "-workers="+workers, "-interval=1",
			"-transactions=100", "-client-id=myClient", "-x", "3", "-y", "1", "-operation=isprime", "-latency-gt=0.001", "-jwt-gen=once")
		if s.code != 0 || !strings.Contains(s.stdout, "100 of 100 calculations answered") || !strings.Contains(s.stdout, "x=3, y=1, operation=isprime") {
			t.Errorf("-mode=%s: exit code %d\n%s%s", mode, s.code, s.stdout, s.stderr)
		}
	}
	interrupt(t, lab)
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the keys still exist: %v", err)
	}
}
