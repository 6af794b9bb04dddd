package main

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"

	"github.com/spf13/pflag"
)

// accessFlags say who may use a listener that other machines can reach.
type accessFlags struct {
	tokenFile string
	public    bool
}

func (f *accessFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.tokenFile, "token-file", "", "`file` with the token that clients send (authorization: Bearer TOKEN)")
	flags.BoolVar(&f.public, "public", false, "serve clients of other machines without a token")
}

// token returns the token that clients need at an address of a flag.
func (f accessFlags) token(flag, address string) (string, error) {
	if _, port, err := net.SplitHostPort(address); err == nil {
		if _, err := net.LookupPort("tcp", port); err != nil {
			return "", usageError{fmt.Errorf("%s %s: %s is not a port: use 0 to 65535", flag, address, port)}
		}
	}
	if f.public && f.tokenFile == "" {
		return "", nil
	}
	return listenToken(flag, address, f.tokenFile, "other machines could send requests: add --token-file, allow all requests with --public")
}

// listenToken reads the token from the file. Only a loopback address needs no token; risk says what
// other machines could do without one, and what prevents it.
func listenToken(flag, address, file, risk string) (string, error) {
	if file != "" {
		text, err := os.ReadFile(file)
		if err != nil {
			return "", usageError{fmt.Errorf("--token-file: %w", err)}
		}
		if given := strings.TrimSpace(string(text)); given != "" {
			return given, nil
		}
		return "", usageError{fmt.Errorf("--token-file: %s is empty: write a token to it, for example with openssl rand -hex 32", file)}
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return "", usageError{fmt.Errorf("%s: %w", flag, err)}
	}
	if ip, err := netip.ParseAddr(host); host != "localhost" && (err != nil || !ip.IsLoopback()) {
		return "", usageError{fmt.Errorf("%s %s: %s, or listen on 127.0.0.1", flag, address, risk)}
	}
	return "", nil
}
