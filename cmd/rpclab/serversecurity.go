package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/pflag"

	"rpclab/internal/security"
	"rpclab/internal/workload"
)

// secureFlags are what a server asks of the clients of its calculator.
type secureFlags struct {
	security.Policy
	keys    string
	ordered bool // a supervisor says it
}

func (f *secureFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.Transport, "security", security.Plain, "of connections: none; tls; mtls: clients show a certificate too. Health is answered in clear text always")
	flags.BoolVar(&f.Tokens, "jwt", false, "calculations need a token (RS256)")
	flags.BoolVar(&f.Signing, "signing", false, "calculations and their answers are signed (CMS)")
	flags.StringVar(&f.keys, "keys", "", "`file` for what clients need for the last three, to be there while the server is")
	flags.BoolVar(&f.ordered, "secured", false, "supervised, wait for keys before it serves")
	_ = flags.MarkHidden("secured")
}

func (f secureFlags) check(model string) error {
	switch err := f.Check(); {
	case err != nil:
		return usage{fmt.Errorf("--security: %w", err)}
	case (f.Any() || f.keys != "") && model != workload.GRPC:
		return usage{fmt.Errorf("--security, --jwt, --signing and --keys go with --model %s alone", workload.GRPC)}
	case f.Any() != (f.keys != ""):
		return usage{errors.New("--security, --jwt and --signing need --keys, the file from which clients get theirs; without them it has none")}
	}
	return nil
}

// prepare has the server wait for its keys, and makes them unless a supervisor does. end
// removes what was written.
func (f secureFlags) prepare(server *workload.Server) (parties chan<- security.Party, end func() error, err error) {
	end = func() error { return nil }
	if !f.ordered && !f.Any() {
		return nil, end, nil
	}
	given := make(chan security.Party, 1)
	server.Secure = given
	if f.ordered {
		return given, end, nil
	}
	authority, err := security.NewAuthority()
	if err != nil {
		return nil, end, err
	}
	keys, err := authority.Server()
	if err != nil {
		return nil, end, err
	}
	if err := authority.Save(f.keys, f.Policy); err != nil {
		return nil, end, fmt.Errorf("%w\nChoose another file with --keys, or remove this one", err)
	}
	given <- security.Party{Policy: f.Policy, Keys: keys}
	return nil, func() error { return os.Remove(f.keys) }, nil
}
