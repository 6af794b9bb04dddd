package kubernetes

import (
	"errors"
	"sync"
)

// identities are the names of replicas.
func identities(replicas []*replica) (ids []string) {
	for _, backend := range replicas {
		ids = append(ids, backend.name)
	}
	return ids
}

// inParallel calls do for all replicas at once, because each call crosses the cluster, and joins
// the errors.
func inParallel(replicas []*replica, do func(*replica) error) error {
	errs := make([]error, len(replicas))
	var done sync.WaitGroup
	for i, backend := range replicas {
		done.Go(func() { errs[i] = do(backend) })
	}
	done.Wait()
	return errors.Join(errs...)
}
