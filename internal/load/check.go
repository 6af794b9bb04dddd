package load

import (
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"runtime"
	"slices"
	"strings"

	"rpclab/internal/service/request"
	"rpclab/internal/suggest"
)

// Check returns an error for settings that contradict each other, before anything is opened.
func (s Settings) Check() error {
	for _, check := range []func() error{s.checkTarget, s.checkBalance, s.checkAuthority, s.checkPace, s.checkNumbers, s.checkConnections} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func (s Settings) checkTarget() error {
	policies := []string{PickFirst, RoundRobin}
	switch {
	case s.Balance != "" && !slices.Contains(policies, s.Balance):
		return request.Invalidf("--balance %s: unknown policy%s", s.Balance, suggest.DidYouMean(s.Balance, policies))
	case s.HTTP != "" && !slices.Contains(httpMethods, s.HTTP):
		return request.Invalidf("--http %s: unknown method%s", s.HTTP, suggest.DidYouMean(s.HTTP, httpMethods))
	case s.HTTP != "" && (s.Call != "" || s.Proto != "" || s.Protoset != "" || len(s.ImportPaths) > 0):
		return request.Invalidf("--http makes REST calls, but --call, --proto, --import-path and --protoset apply to gRPC only: leave them out")
	case s.Engine != Wire && s.Engine != GRPCGo && (s.HTTP == "" || s.Engine != ""):
		return request.Invalidf("--engine %s: unknown engine%s", s.Engine, suggest.DidYouMean(s.Engine, []string{Wire, GRPCGo}))
	case s.HTTP == "" && s.HTTP2:
		return request.Invalidf("--http2 applies to REST calls (--http): leave it out, because gRPC always uses HTTP/2")
	case s.HTTP != "" && s.Compress != "":
		return request.Invalidf("--compress compresses gRPC messages, not the bodies of --http: leave it out")
	case s.Compress != "" && s.Compress != Gzip:
		return request.Invalidf("--compress %s: unknown compression: use %s", s.Compress, Gzip)
	case strings.ContainsFunc(s.UserAgent, func(r rune) bool { return r < ' ' || r > '~' }):
		return request.Invalidf("--user-agent %q has characters that a header cannot contain: use letters, digits and punctuation", s.UserAgent)
	case s.HTTP != "" && s.Engine == GRPCGo:
		return request.Invalidf("--engine %s makes gRPC calls only: leave it out with --http", GRPCGo)
	case s.httpVersion() == 1 && (s.Streams != 0 || s.KeepAlive != 0):
		return request.Invalidf("--streams and --keepalive need HTTP/2: leave them out, or add --http2")
	case s.HTTP != "" && (s.Messages != 0 || s.NoMessages || s.PingPong || s.StreamMessages != 0 || s.StreamDuration != 0 || s.StreamEmpty):
		return request.Invalidf("--messages, --ping-pong, --stream-messages, --stream-duration and --stream-empty apply to gRPC streams, not to --http: leave them out")
	case s.HTTP != "":
		parsed, err := url.Parse(s.Target)
		if err != nil || parsed.Host == "" || parsed.Scheme != "http" && parsed.Scheme != "https" {
			return request.Invalidf("%q is not a URL: use one such as http://127.0.0.1:8080/path", s.Target)
		}
		if parsed.Scheme == "http" && s.TLS != (TLS{}) {
			return request.Invalidf("%q does not use TLS, as flags about TLS demand: write https:", parsed.Redacted())
		}
		return nil
	case s.Cores > 1 && s.Engine != Wire:
		return request.Invalidf("--cores needs --engine %s: leave it out, because --engine %s uses every processor", Wire, s.Engine)
	case s.PerCall && s.Engine != Wire:
		return request.Invalidf("--connections per-call needs --engine %s, but --engine is %s", Wire, s.Engine)
	case s.Call == "":
		return request.Invalidf("set what to call: --call package.Service/Method, or --http GET for REST")
	case s.StreamEmpty && s.StreamDuration == 0:
		return request.Invalidf("--stream-empty needs --stream-duration, which ends streams: set both, or leave it out")
	case s.NoMessages && s.PingPong:
		return request.Invalidf("--messages 0 sends nothing that --ping-pong could wait for: leave out one of them")
	case s.NoMessages && (s.Data != "" || s.Binary):
		return request.Invalidf("--messages 0 does not send the message of --data: leave out one of them")
	case s.Proto != "" && s.Protoset != "":
		return request.Invalidf("--proto and --protoset exclude each other: set one of them")
	case len(s.ImportPaths) > 0 && s.Proto == "":
		return request.Invalidf("--import-path needs --proto: set the .proto file, or leave out --import-path")
	}
	_, err := parseTarget(s.Target)
	return err
}

// checkBalance rejects a policy for a target that has one address, whatever its names resolve to.
func (s Settings) checkBalance() error {
	if s.Balance != RoundRobin {
		return nil
	}
	name := s.Target
	if parsed, err := url.Parse(s.Target); s.HTTP != "" && err == nil {
		name = address(parsed)
	}
	servers, err := parseTarget(name)
	if err != nil || len(servers) > 1 {
		return err
	}
	if _, err := netip.ParseAddr(servers[0].host); err == nil || servers[0].socket != "" {
		return request.Invalidf("--balance %s chooses among several addresses, and %s is one: leave it out, or use a target with several", RoundRobin, name)
	}
	return nil
}

func (s Settings) checkAuthority() error {
	wrong := func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(`/?#@\"<>`, r) }
	switch {
	case strings.ContainsFunc(s.Authority, wrong):
		return request.Invalidf("--authority %q is not a name: use NAME or NAME:PORT", s.Authority)
	case s.Authority != "" && s.TLS.ServerName != "" && hostOf(s.Authority) != s.TLS.ServerName:
		return request.Invalidf("--authority %s and --servername %s differ, but each sets both names: set one of them", s.Authority, s.TLS.ServerName)
	}
	return nil
}

// maxLimit is the largest limit of responses.
const maxLimit = 1<<31 - 1

// httpMethods are the methods of REST calls.
var httpMethods = []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}

func (s Settings) checkPace() error {
	open := s.Rate != 0 || s.Stages != "" || s.Search != nil
	switch {
	case s.Search != nil && (s.Rate != 0 || s.Stages != ""):
		return request.Invalidf("--search sets the rates: leave out --rate and --stages")
	case s.Search != nil && s.Calls != 0:
		return request.Invalidf("--search makes loads of a duration: leave out --calls")
	case s.Rate != 0 && s.Stages != "":
		return request.Invalidf("--rate and --stages exclude each other: set one of them")
	case open && s.Concurrency != 0:
		return request.Invalidf("--concurrency makes a closed loop, --rate, --stages and --search an open one: set one of them (--max-in-flight limits an open loop)")
	case open && s.Think != 0:
		return request.Invalidf("--think needs a closed loop: leave it out, or set --concurrency instead of --rate, --stages and --search")
	case !open && s.Poisson:
		return request.Invalidf("--arrivals needs an open loop: set --rate or --stages")
	case s.Stages != "" && s.Duration != 0:
		return request.Invalidf("--stages set the duration: leave out --duration")
	}
	return nil
}

func (s Settings) checkNumbers() error {
	for _, n := range []struct {
		flag string
		fits bool
		rule string
	}{
		{"--rate", s.Rate == 0 || s.Rate >= MinRate && s.Rate <= MaxRate, fmt.Sprintf("must be %g to %.0f calls/s", MinRate, float64(MaxRate))},
		{"--concurrency", s.Concurrency >= 0 && s.Concurrency <= MaxUsers, fmt.Sprintf("must be 1 to %d", MaxUsers)},
		{"--connections", s.Connections >= 0 && s.Connections <= MaxUsers, fmt.Sprintf("must be 1 to %d", MaxUsers)},
		{"--messages", s.Messages >= 0 && s.Messages <= MaxUsers, fmt.Sprintf("must be 0 to %d", MaxUsers)},
		{"--max-in-flight", s.MaxInFlight > 0 && s.MaxInFlight <= MaxUsers, fmt.Sprintf("must be 1 to %d", MaxUsers)},
		{"--cores", s.Cores >= 0 && s.Cores <= runtime.NumCPU(), fmt.Sprintf("must be 1 to %d, the processors of this machine", runtime.NumCPU())},
		{"--stream-messages", s.StreamMessages >= 0 && s.StreamMessages <= MaxUsers, fmt.Sprintf("must be 1 to %d", MaxUsers)},
		{"--stream-duration", s.StreamDuration >= 0, "must be a duration such as 5s"},
		{"--max-header-list", s.MaxHeaderList >= 0 && s.MaxHeaderList <= maxLimit, fmt.Sprintf("must be 1 to %d bytes", maxLimit)},
		{"--max-message", s.MaxMessage >= 0 && s.MaxMessage <= maxLimit, fmt.Sprintf("must be 1 to %d bytes", maxLimit)},
		{"--rounds", s.Rounds >= 0 && s.Rounds <= MaxRounds, fmt.Sprintf("must be 1 to %d", MaxRounds)},
		{"--warmup", s.Warmup >= 0, "must be a number of calls, or 0"},
		{"--warmup-max", s.WarmupMax >= 0, "must be a duration such as 30s"},
		{"--think", s.Think >= 0, "must be a duration such as 100ms"},
		{"--duration", s.Duration >= 0, "must be a duration such as 10s"},
		{"--timeout", s.Timeout > 0, "must be a duration such as 20s"},
	} {
		if !n.fits {
			return request.Invalidf("%s %s", n.flag, n.rule)
		}
	}
	return nil
}
