package load

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestInvalidConnectionOptionsAreRejected(t *testing.T) {
	for want, options := range map[string]ConnectionOptions{
		"--streams must be 1 to":                         {Streams: -1},
		"--connect-rate must be more than 0":             {ConnectRate: math.NaN()},
		"--keepalive must be a duration":                 {KeepAlive: -time.Second},
		"--idle-close must be a duration":                {IdleClose: -time.Second},
		"--source near: not an address or":               {Sources: []string{"127.0.0.1", "near"}},
		"--source 127.0.0.1/33: not an address":          {Sources: []string{"127.0.0.1/33"}},
		"use a longer prefix such as 127.0.0.0/28":       {Sources: []string{"127.0.0.1/8"}},
		"--source 192.0.2.1: this machine does not have": {Sources: []string{"192.0.2.1"}},
		"one is IPv4 and the other IPv6":                 {Sources: []string{"127.0.0.1", "::1"}},
	} {
		s := with(func(s *Settings) { s.ConnectionOptions = options })
		if err := s.Check(); err == nil || !strings.Contains(err.Error(), want) || !errors.Is(err, ErrInvalid) {
			t.Errorf("the error is %v, want %q", err, want)
		}
	}
}

func TestConnectionOptionsNeedTheEngineWire(t *testing.T) {
	for flag, options := range map[string]ConnectionOptions{
		"--streams": {Streams: 1}, "--connect-rate": {ConnectRate: 1}, "--source": {Sources: []string{"127.0.0.1"}},
		"--keepalive": {KeepAlive: 1}, "--idle-close": {IdleClose: 1},
	} {
		s := with(func(s *Settings) { s.ConnectionOptions, s.Engine = options, GRPCGo })
		if err := s.Check(); err == nil || !strings.Contains(err.Error(), flag+" needs the engine wire") || !errors.Is(err, ErrInvalid) {
			t.Errorf("the error is %v, want %q", err, flag+" needs the engine wire")
		}
	}
}

func TestAPrefixOfSourcesContainsAllItsAddresses(t *testing.T) {
	c := ConnectionOptions{Sources: []string{"127.1.0.6/30", "127.0.0.1"}}
	all, err := c.sources()
	if got := fmt.Sprint(all); err != nil || got != "[127.1.0.4 127.1.0.5 127.1.0.6 127.1.0.7 127.0.0.1]" {
		t.Errorf("the sources are %s, %v; want the 4 addresses of 127.1.0.4/30 and 127.0.0.1", got, err)
	}
	to, err := sameFamily("both", []string{"[::1]:80", "127.0.0.1:80"}, all)
	if err != nil || len(to) != 1 || to[0] != "127.0.0.1:80" {
		t.Errorf("the addresses to dial are %v, %v; want the IPv4 address only", to, err)
	}
	if _, err := sameFamily("six", []string{"[::1]:80"}, all); !errors.Is(err, ErrInvalid) {
		t.Errorf("an IPv6 target with IPv4 sources: the error is %v, want %v", err, ErrInvalid)
	}
}

func TestManyConnectionsHaveMoreTimeToConnect(t *testing.T) {
	if got := (ConnectionOptions{ConnectRate: 100}).timeout(target{addresses: []string{"a", "b"}}, 1000); got != connectTimeout+10*time.Second+time.Second {
		t.Errorf("1,000 connections at 100/s have %v to connect, want %v", got, connectTimeout+11*time.Second)
	}
	if got := (ConnectionOptions{ConnectRate: 100}).timeout(target{addresses: []string{"a", "b"}, balance: RoundRobin}, 1000); got != connectTimeout+20*time.Second+2*time.Second {
		t.Errorf("1,000 connections to each of two addresses at 100/s have %v to connect, want %v", got, connectTimeout+22*time.Second)
	}
}

// Both engines have as long to connect.
func TestGRPCGoHasMoreTimeForManyConnections(t *testing.T) {
	const connections = 500
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		client, err := openGRPC(t.Context(), target{name: "a:1", authority: "a:1", addresses: []string{"a:1"}}, connections, nil, ResponseLimits{}, func(ctx context.Context, _ string) (net.Conn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		})
		// It connects once more, to say how far a connection gets.
		if took, want := time.Since(began), connectTimeout+connections*time.Millisecond+alertTimeout; client != nil || err == nil || took != want {
			t.Errorf("%d connections to a server that does not answer failed after %v with %v, want an error after %v", connections, took, err, want)
		}
	})
}

func TestTooManyConnectionsForOpenFilesAreRejected(t *testing.T) {
	for connections, fits := range map[int]bool{0: true, 1: true, 936: true, 937: false, MaxUsers: false} {
		err := checkFileLimit(connections, 1000)
		if (err == nil) != fits || errors.Is(err, ErrInvalid) {
			t.Errorf("%d connections with 1,000 open files: the error is %v, want one: %v", connections, err, !fits)
		}
	}
}
