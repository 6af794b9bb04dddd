package route

import (
	"net/netip"
	"os"
	"reflect"
	"strings"
	"testing"

	"rpclab/internal/route/component"
	"rpclab/internal/route/endpointslice"
	"rpclab/internal/route/settings"
	"rpclab/internal/testkit"
)

func TestNginxUpdateIsRetriedUntilTheSignalArrives(t *testing.T) {
	p := &nginxProcess{site: site{name: "nginx-0", dir: t.TempDir(), listen: "127.0.0.1:9"}, workers: 1, signalled: true}
	usable := endpointslice.Set{{Addr: netip.MustParseAddrPort("127.0.0.1:50051")}}
	for range 2 { // while the master is not running
		const want = "nginx-0 is not running"
		if err := p.update(t.Context(), &component.Component{Spec: component.Spec{Name: "nginx-0"}}, usable); err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
	}
	if text, err := os.ReadFile(p.file("nginx.conf")); err != nil || !strings.Contains(string(text), "server 127.0.0.1:50051;") {
		t.Errorf("nginx.conf is %q (%v), want the server 127.0.0.1:50051 in it", text, err)
	}
}

func TestTheTemplatesOfProxiesCallNoMethods(t *testing.T) {
	for name, text := range map[string]string{"haproxy.cfg.tmpl": haproxyConfigText, "nginx.conf.tmpl": nginxConfigText} {
		if methods := testkit.TemplateMethods(text, reflect.TypeFor[settings.Settings]()); methods != nil {
			t.Errorf("%s calls %v, which a released program cannot", name, methods)
		}
	}
}
