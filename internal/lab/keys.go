package lab

import (
	"fmt"
	"slices"

	"rpclab/internal/cluster/faultproxy"
	"rpclab/internal/security"
	"rpclab/internal/service"
)

// keyring creates the keys of a run and stores them in memory only. Servers and callers read their
// keys from standard input.
type keyring struct {
	authority *security.Authority                  // nil: no trial has needed it so far
	servers   map[security.Policy]*security.Config // by policy
	proxies   security.IssuerKeys                  // of fault proxies; zero: no trial has needed them so far
}

// faultProxy returns how the fault proxies of a trial encrypt connections; nil: its calls are in clear text.
func (k *keyring) faultProxy(t trial) (*faultproxy.TLS, error) {
	if !t.server.FaultProxy || len(t.job.Calls) == 0 || t.job.Calls[0].TLS == nil {
		return nil, nil
	}
	if k.proxies == (security.IssuerKeys{}) {
		var err error
		if k.proxies, err = security.NewIssuerKeys(); err != nil {
			return nil, err
		}
	}
	return &faultproxy.TLS{Issuer: k.proxies, Service: *t.job.Calls[0].TLS}, nil
}

// trusting returns calls to fault proxies: they trust the proxies' certificates in place of the service's.
func trusting(proxies *faultproxy.TLS, calls []service.Spec) []service.Spec {
	if proxies == nil {
		return calls
	}
	calls = slices.Clone(calls)
	for i := range calls {
		own := *calls[i].TLS // all calls of a service have the same
		own.CACert = []byte(proxies.Issuer.Certificate)
		calls[i].TLS = &own
	}
	return calls
}

// ready creates the authority that servers and clients trust, if there is none.
func (k *keyring) ready() (err error) {
	if k.authority == nil {
		k.servers = map[security.Policy]*security.Config{}
		k.authority, err = security.NewAuthority()
	}
	return err
}

// server returns the configuration of servers with a policy; nil: the policy requires nothing.
func (k *keyring) server(policy security.Policy) (*security.Config, error) {
	if !policy.Required() {
		return nil, nil
	}
	if err := k.ready(); err != nil {
		return nil, err
	}
	if config, ok := k.servers[policy]; ok {
		return config, nil
	}
	keys, err := k.authority.Server()
	k.servers[policy] = &security.Config{Policy: policy, Keys: keys}
	return k.servers[policy], err
}

// identities returns the keys of a trial's callers. They are new in each trial, since servers may
// have seen the messages of earlier trials.
func (k *keyring) identities(t trial) (all []security.Config, err error) {
	count := t.Config.CallerCount()
	if t.Config.Workload.Calculate == nil {
		return make([]security.Config, count), nil
	}
	if err := k.ready(); err != nil {
		return nil, err
	}
	for n := range count {
		keys, err := k.authority.Client(fmt.Sprintf("caller-%d.trial-%d", n, t.Order), security.Lifetime)
		if err != nil {
			return nil, err
		}
		all = append(all, security.Config{Policy: t.security, Keys: keys})
	}
	return all, nil
}
