package otlp

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestReadFollowsFlagAndEnvironment(t *testing.T) {
	t.Parallel()
	noCertificate := filepath.Join(t.TempDir(), "empty.pem")
	if err := os.WriteFile(noCertificate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		flag, env string // env: NAME=value, a line each
		want      string // protocol, TLS, URL, service; or the start of the error; empty: nothing is sent
	}{
		"nothing":                 {"", "", ""},
		"HTTP":                    {"http://h:4318", "", "http cleartext http://h:4318 rpclab"},
		"gRPC":                    {"grpc://h:4317", "", "grpc cleartext grpc://h:4317 rpclab"},
		"gRPC with TLS":           {"grpcs://h:4317", "", "grpc TLS grpcs://h:4317 rpclab"},
		"the environment":         {"", Endpoint + "=https://h", "http TLS https://h rpclab"},
		"gRPC by the environment": {"", Endpoint + "=http://h:4317\n" + protocol + "=grpc", "grpc cleartext http://h:4317 rpclab"},
		"the flag is first":       {"http://flag", Endpoint + "=http://h:4317\n" + protocol + "=grpc", "http cleartext http://flag rpclab"},
		"disabled":                {"", Endpoint + "=http://h\n" + disabled + "=true", ""},
		"a flag is not disabled":  {"http://h", disabled + "=true", "http cleartext http://h rpclab"},
		"a name of the service":   {"http://h", attributes + "=service.name=nightly%20lab,team=a", "http cleartext http://h nightly lab"},
		"another name":            {"http://h", attributes + "=service.name=b\n" + serviceName + "=c", "http cleartext http://h c"},
		"a password over gRPC":    {"grpc://me:secret@h:4317/", "", "grpc cleartext grpc://me:xxxxx@h:4317/ rpclab, authorization: Basic bWU6c2VjcmV0"},
		"a token over gRPC":       {"grpc://me:secret@h:4317", headers + "=Authorization=Bearer%20a", "grpc cleartext grpc://me:xxxxx@h:4317 rpclab, authorization: Bearer a"},
		"a path over gRPC":        {"grpc://h:4317/tenant-a", "", "error: --otlp: OTLP over gRPC has no path and no query: use grpc://h:4317"},
		"no host":                 {"localhost:4318", "", "error: --otlp: use a URL such as http://127.0.0.1:4318"},
		"an unknown scheme":       {"ftp://h", "", `error: --otlp: no scheme "ftp"`},
		"JSON":                    {"", Endpoint + "=http://h\n" + protocol + "=http/json", "error: " + protocol + ": rpclab supports grpc and http/protobuf"},
		"wrong headers":           {"http://h", headers + "=a", "error: " + headers + ": write name=value"},
		"wrong attributes":        {"http://h", attributes + "=a", "error: " + attributes + ": write name=value"},
		"no certificate":          {"https://h", certificate + "=" + noCertificate, "error: " + certificate + ": the file has no certificate"},
		"a missing certificate":   {"https://h", certificate + "=/none", "error: " + certificate + ": open /none"},
		"no metrics":              {"http://h", metricsTo + "=none\n" + spansTo + "=otlp", "http cleartext http://h rpclab"},
		"a hidden password":       {"http://me:secret@h", "", "http cleartext http://me:xxxxx@h rpclab"},
	} {
		env := map[string]string{}
		for line := range strings.SplitSeq(c.env, "\n") {
			name, value, _ := strings.Cut(line, "=")
			env[name] = value
		}
		got, err := Read(c.flag, func(name string) string { return env[name] })
		text := ""
		switch {
		case err != nil:
			text = "error: " + err.Error()
		case got != nil:
			text = map[bool]string{true: "grpc ", false: "http "}[got.grpc] + map[bool]string{true: "cleartext ", false: "TLS "}[got.tls == nil] + got.String() + " " + got.resource["service.name"]
			if login := got.header.Get("Authorization"); login != "" {
				text += ", authorization: " + login
			}
		}
		if got != nil && (got.noSpans != (env[spansTo] == nowhere) || got.noMetrics != (env[metricsTo] == nowhere)) {
			t.Errorf("%s: spans are off: %v, metrics: %v", name, got.noSpans, got.noMetrics)
		}
		if isError := strings.HasPrefix(c.want, "error: "); isError && !strings.HasPrefix(text, c.want) || !isError && text != c.want {
			t.Errorf("%s: %q, want %q", name, text, c.want)
		}
	}
}
