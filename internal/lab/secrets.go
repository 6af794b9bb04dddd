package lab

import (
	"fmt"

	"rpclab/internal/experiment"
	"rpclab/internal/security"
)

// secrets are the keys of a run, in memory alone: servers and callers get theirs on standard
// input.
type secrets struct {
	authority *security.Authority                 // nil: nobody needed one yet
	parties   map[security.Policy]*security.Party // of servers
}

// policyFor is what the servers of an arm ask of their clients.
func policyFor(c experiment.Config) security.Policy {
	return security.Policy{Transport: c.Server.Security, Tokens: c.Caller.JWT != "" && c.Caller.JWT != "none", Signing: c.Caller.Signing}
}

// ready makes the authority that all trust.
func (s *secrets) ready() (err error) {
	if s.authority == nil {
		s.parties = map[security.Policy]*security.Party{}
		s.authority, err = security.NewAuthority()
	}
	return err
}

// server is what the servers of an arm wait for; nil: they ask for nothing.
func (s *secrets) server(c experiment.Config) (*security.Party, error) {
	policy := policyFor(c)
	if c.Workload.Calculate == nil || !policy.Any() {
		return nil, nil
	}
	if err := s.ready(); err != nil {
		return nil, err
	}
	if party, made := s.parties[policy]; made {
		return party, nil
	}
	keys, err := s.authority.Server()
	s.parties[policy] = &security.Party{Policy: policy, Keys: keys}
	return s.parties[policy], err
}

// clients are the callers of a trial, in whose names calculations are made. Servers that stay
// have seen the messages of the trials before: each trial has clients of its own.
func (s *secrets) clients(t experiment.Trial) (all []security.Party, err error) {
	if t.Config.Workload.Calculate == nil {
		return make([]security.Party, t.Config.CallerCount()), nil
	}
	if err := s.ready(); err != nil {
		return nil, err
	}
	for n := range t.Config.CallerCount() {
		keys, err := s.authority.Client(fmt.Sprintf("caller-%d.trial-%d", n, t.Order), security.Life)
		if err != nil {
			return nil, err
		}
		all = append(all, security.Party{Policy: policyFor(t.Config), Keys: keys})
	}
	return all, nil
}
