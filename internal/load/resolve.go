package load

import (
	"cmp"
	"context"

	"rpclab/internal/service/request"
)

// resolveTarget looks up the target of a load. Over HTTP, address is the address of the URL.
func (s Settings) resolveTarget(ctx context.Context, address string) (target, error) {
	interrupt := ctx
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	to, err := resolve(ctx, address)
	if err != nil {
		return to, endpoint{target: target{name: address}, waited: connectTimeout}.connectError(interrupt, err)
	}
	to.authority, to.balance = s.authority(to.authority), cmp.Or(s.Balance, PickFirst)
	to.patience = s.patience()
	if err := s.checkFiles(len(to.addresses)); err != nil {
		return to, err
	}
	sources, err := s.sources()
	if err != nil {
		return to, err
	}
	if len(sources) > 0 && to.hasSockets() {
		return to, request.Invalidf("--source sets the address of TCP connections: leave it out for a Unix socket")
	}
	to.addresses, err = sameFamily(to.name, to.addresses, sources)
	return to, err
}
