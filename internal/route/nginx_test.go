package route

import (
	"net/netip"
	"os"
	"strings"
	"testing"

	"rpclab/internal/route/component"
	"rpclab/internal/route/endpointslice"
)

func TestNginxIsSignalledUntilTheSignalArrives(t *testing.T) {
	p := &nginxProcess{site: site{name: "nginx-0", dir: t.TempDir(), listen: "127.0.0.1:9"}, workers: 1, signalled: true}
	usable := endpointslice.Set{{Addr: netip.MustParseAddrPort("127.0.0.1:50051")}}
	for range 2 { // while the master is not running
		if err := p.update(t.Context(), &component.Component{Spec: component.Spec{Name: "nginx-0"}}, usable); err == nil || err.Error() != "nginx-0 is not running" {
			t.Errorf("error %v", err)
		}
	}
	if text, err := os.ReadFile(p.file("nginx.conf")); err != nil || !strings.Contains(string(text), "server 127.0.0.1:50051;") {
		t.Errorf("the next master would read %q, %v", text, err)
	}
}
