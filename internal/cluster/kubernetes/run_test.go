package kubernetes

import (
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"
)

func TestNamesOfServicesBecomeNamesOfObjects(t *testing.T) {
	r := &run{}
	for name, want := range map[string]string{"orders": "orders-1", "2pay": "service-2pay-1"} {
		r.named.Store(0)
		got := r.uniqueName(name)
		if problems := validation.IsDNS1035Label(nodePort(got)); got != want || problems != nil {
			t.Errorf("%s: the name is %s, want %s: %q", name, got, want, problems)
		}
	}
}
