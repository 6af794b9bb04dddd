package lab

import (
	"fmt"

	"rpclab/internal/security"
)

// keyring makes the keys of a run and keeps them in memory only: servers and callers read
// theirs from standard input.
type keyring struct {
	authority *security.Authority                  // nil: no trial needed one yet
	servers   map[security.Policy]*security.Config // by what they require
}

// ready makes the authority that servers and clients trust.
func (s *keyring) ready() (err error) {
	if s.authority == nil {
		s.servers = map[security.Policy]*security.Config{}
		s.authority, err = security.NewAuthority()
	}
	return err
}

// server is what servers read before they serve, where they require so much of their
// clients; nil: they require nothing.
func (s *keyring) server(policy security.Policy) (*security.Config, error) {
	if !policy.Required() {
		return nil, nil
	}
	if err := s.ready(); err != nil {
		return nil, err
	}
	if config, made := s.servers[policy]; made {
		return config, nil
	}
	keys, err := s.authority.Server()
	s.servers[policy] = &security.Config{Policy: policy, Keys: keys}
	return s.servers[policy], err
}

// clients are the identities of a trial's callers. Servers that stay have seen the messages of
// earlier trials, so each trial has clients of its own.
func (s *keyring) clients(t trial) (all []security.Config, err error) {
	count := t.Config.CallerCount()
	if t.Config.Workload.Calculate == nil {
		return make([]security.Config, count), nil
	}
	if err := s.ready(); err != nil {
		return nil, err
	}
	for n := range count {
		keys, err := s.authority.Client(fmt.Sprintf("caller-%d.trial-%d", n, t.Order), security.Lifetime)
		if err != nil {
			return nil, err
		}
		all = append(all, security.Config{Policy: t.security, Keys: keys})
	}
	return all, nil
}
