package lab

import (
	"context"
	"testing"

	"rpclab/internal/process"
	"rpclab/internal/route"
	"rpclab/internal/route/component"
)

func TestAKilledProxyIsRestartedAfterTheLoadHasEnded(t *testing.T) {
	p, err := component.Start(t.Context(), component.Spec{
		Name: "proxy", Role: component.Proxy, Restart: true,
		Process: process.Spec{Args: []string{"sleep", "60"}},
		Ready:   func(ctx context.Context) error { return ctx.Err() },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	bed := testbed{infrastructure: localInfrastructure{Infrastructure: route.Infrastructure{Components: []*component.Component{p}}}}
	if err := bed.kill(ended, component.Proxy); err != nil {
		t.Error(err)
	}
}
