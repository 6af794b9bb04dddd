package security

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	rpclabv1 "rpclab/api/rpclab/v1"
	"rpclab/internal/security"
	"rpclab/internal/testkit"
	"rpclab/internal/workload"
)

// attack is one attack by its own client; it returns the error of the server.
type attack func(t *testing.T, s *server, name string) error

var attacks = []struct {
	name   string
	try    attack
	code   codes.Code
	reason security.Reason
}{
	{"no token", func(t *testing.T, s *server, name string) error {
		c := s.client(t, s.keysOf(t, name))
		return c.try(t, name, "")
	}, codes.Unauthenticated, security.NoToken},
	{"a token that somebody else signed", func(t *testing.T, s *server, name string) error {
		c := s.client(t, s.keysOf(t, name))
		forger := &client{keys: (&server{authority: stranger(t)}).keysOf(t, name)}
		return c.try(t, name, forger.token(t, security.Audience, time.Hour))
	}, codes.Unauthenticated, security.BadToken},
	{"an expired token", func(t *testing.T, s *server, name string) error {
		c := s.client(t, s.keysOf(t, name))
		return c.try(t, name, c.token(t, security.Audience, -time.Minute))
	}, codes.Unauthenticated, security.ExpiredToken},
	{"a token for another audience", func(t *testing.T, s *server, name string) error {
		c := s.client(t, s.keysOf(t, name))
		return c.try(t, name, c.token(t, "somebody-else", time.Hour))
	}, codes.Unauthenticated, security.WrongAudience},
	{"the token of another client", func(t *testing.T, s *server, name string) error {
		c, other := s.client(t, s.keysOf(t, name)), &client{keys: s.keysOf(t, "victim")}
		return c.try(t, name, other.token(t, security.Audience, time.Hour))
	}, codes.PermissionDenied, security.WrongClient},
	{"the name of another client", func(t *testing.T, s *server, name string) error {
		c := s.client(t, s.keysOf(t, name))
		return c.try(t, "victim", (&client{keys: s.keysOf(t, "victim")}).token(t, security.Audience, time.Hour))
	}, codes.PermissionDenied, security.WrongClient},
	{"a certificate of an unknown CA", func(t *testing.T, s *server, name string) error {
		keys, theirs := s.keysOf(t, name), (&server{authority: stranger(t)}).keysOf(t, name)
		keys.Certificate, keys.Key = theirs.Certificate, theirs.Key
		c := s.client(t, keys)
		return c.try(t, name, c.token(t, security.Audience, time.Hour))
	}, codes.Unavailable, security.UnknownCA},
	{"an expired certificate", func(t *testing.T, s *server, name string) error {
		keys, err := s.authority.Client(name, -time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		c := s.client(t, keys)
		return c.try(t, name, c.token(t, security.Audience, time.Hour))
	}, codes.Unavailable, security.ExpiredCertificate},
	{"no encryption", func(t *testing.T, s *server, name string) error {
		channel, err := grpc.NewClient("passthrough:///"+s.addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			t.Fatal(err)
		}
		defer channel.Close()
		c := s.client(t, s.keysOf(t, name))
		c.CalculatorServiceClient = rpclabv1.NewCalculatorServiceClient(channel)
		return c.try(t, name, c.token(t, security.Audience, time.Hour))
	}, codes.Unauthenticated, security.NoEncryption},
	{"a payload that was tampered with", func(t *testing.T, s *server, name string) error {
		c := s.client(t, s.keysOf(t, name))
		message := bytes.Replace(c.message(t, workload.MessageID(name, 0), workload.Add), []byte(`"x": 20`), []byte(`"x": 99`), 1)
		return c.say(t, message)
	}, codes.Unauthenticated, security.BadSignature},
	{"a payload that is not signed", func(t *testing.T, s *server, name string) error {
		return s.client(t, s.keysOf(t, name)).say(t, []byte(`{"id": "x/0", "operation": "add"}`))
	}, codes.Unauthenticated, security.BadSignature},
	{"a message of another client, replayed", func(t *testing.T, s *server, name string) error {
		recorded := s.client(t, s.keysOf(t, "victim")).message(t, workload.MessageID("victim", 7), workload.Add)
		return s.client(t, s.keysOf(t, name)).say(t, recorded)
	}, codes.PermissionDenied, security.Replayed},
	{"the id of another client, under one's own signature", func(t *testing.T, s *server, name string) error {
		c := s.client(t, s.keysOf(t, name))
		return c.say(t, c.message(t, workload.MessageID("victim", 8), workload.Add))
	}, codes.PermissionDenied, security.Replayed},
	{"a message of one's own, replayed", func(t *testing.T, s *server, name string) error {
		c := s.client(t, s.keysOf(t, name))
		message := c.message(t, workload.MessageID(name, 0), workload.Add)
		if err := c.say(t, message); err != nil {
			t.Fatal(err)
		}
		return c.say(t, message)
	}, codes.PermissionDenied, security.Replayed},
	{"a message without an id", func(t *testing.T, s *server, name string) error {
		c := s.client(t, s.keysOf(t, name))
		return c.say(t, c.message(t, "", workload.Add))
	}, codes.InvalidArgument, security.Malformed},
}

// try sends a valid request as a client with this name and token.
func (c *client) try(t *testing.T, name, token string) error {
	t.Helper()
	_, err := c.ask(t.Context(), name, token, c.message(t, workload.MessageID(name, 0), workload.Add))
	return err
}

// say sends a message as this client, with its valid token.
func (c *client) say(t *testing.T, message []byte) error {
	t.Helper()
	_, err := c.ask(t.Context(), c.keys.Name, c.token(t, security.Audience, time.Hour), message)
	return err
}

// stranger is an authority that the server does not trust.
func stranger(t *testing.T) *security.Authority {
	t.Helper()
	a, err := security.NewAuthority()
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestAttacksAreRejectedAndCounted(t *testing.T) {
	s := start(t, everything)
	for n, a := range attacks {
		t.Run(a.name, func(t *testing.T) {
			before := s.refused(t, a.reason)
			if err := a.try(t, s, fmt.Sprintf("attacker-%d", n)); status.Code(err) != a.code {
				t.Errorf("the server returned %v, want %s", err, a.code)
			}
			testkit.Await(t, "the rejection is counted", func() bool { return s.refused(t, a.reason) > before })
			s.honest(t, fmt.Sprintf("honest-%d", n))
		})
	}
}

func TestAClientRejectsAServerOfAnotherAuthority(t *testing.T) {
	s := start(t, security.Policy{Transport: security.TLS})
	c := s.client(t, (&server{authority: stranger(t)}).keysOf(t, "client"))
	if err := c.try(t, "client", ""); status.Code(err) != codes.Unavailable {
		t.Errorf("the call returned %v, want a failed handshake", err)
	}
}

func TestAnUnknownOperationIsAnInvalidArgument(t *testing.T) {
	s := start(t, everything)
	c := s.client(t, s.keysOf(t, "client"))
	if err := c.say(t, c.message(t, workload.MessageID("client", 0), "divide")); status.Code(err) != codes.InvalidArgument {
		t.Errorf("the call returned %v, want INVALID_ARGUMENT", err)
	}
	s.honest(t, "honest")
}
