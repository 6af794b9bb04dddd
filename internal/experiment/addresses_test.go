package experiment

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Each address that no load could call is an error with its place, before anything starts.
func TestWrongAddressesOfAService(t *testing.T) {
	const text = "service: shop\nserver:\n  addresses:\n  - %s\ncalls: {get: {method: shop.Orders/Get}}\n"
	for address, ok := range map[string]bool{
		"127.0.0.1:80": true, "[::1]:80": true, "a.test:https": true, "a.test:65535": true,
		"unix:///tmp/a.sock": false, "localhost": false, ":80": false, "127.0.0.1:99999": false, "127.0.0.1:0": false, "127.0.0.1:-1": false,
		"127.0.0.1:": false, "http://127.0.0.1:80": false, "127.0.0.1:7441, 127.0.0.1:7442": false,
	} {
		var want []string
		if !ok {
			want = []string{fmt.Sprintf("s.yaml:4:5: server.addresses: %q is not host:port: experiments and loads of a service call it over TCP, "+
				"so set a name or an IP address and a port of 1 to 65535, such as 127.0.0.1:50051", address)}
		}
		_, err := ReadService(ServiceDocument{File: "s.yaml", Text: fmt.Appendf(nil, text, `"`+address+`"`)}, vocabulary)
		if diff := cmp.Diff(want, lines(err)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", address, diff)
		}
	}
	inline := "experiment: x\nquestion: y?\nservices:\n  shop:\n    server: {addresses: [\"a:1\", a]}\n    calls: {get: {method: shop.Orders/Get}}\n" +
		"defaults: {service: shop, workload: {call: get}, route: direct, load: {burst: 5}}\narms: {a: {}}\n"
	if _, err := Expand("x.yaml", []byte(inline), Options{Rounds: 1}, vocabulary); err == nil || !strings.Contains(err.Error(), `x.yaml:5:33: server.addresses: "a" is not host:port`) {
		t.Errorf("in an experiment: %v", err)
	}
}
