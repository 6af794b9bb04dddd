package lab

import (
	"context"
	"testing"

	"rpclab/internal/process"
	"rpclab/internal/route"
	"rpclab/internal/route/part"
)

func TestAKilledProxyComesBackThoughTheLoadIsOver(t *testing.T) {
	p, err := part.Start(t.Context(), part.Spec{
		Name: "proxy", Role: part.Proxy, Again: true,
		Run:   process.Spec{Args: []string{"sleep", "60"}},
		Ready: func(ctx context.Context) error { return ctx.Err() },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	over, end := context.WithCancel(t.Context())
	end()
	f := field{standing: here{Standing: route.Standing{Parts: []*part.Part{p}}}}
	if err := f.kill(over, part.Proxy); err != nil {
		t.Error(err)
	}
}
