package route

import "testing"

func TestServiceNameGetsTheClusterDomain(t *testing.T) {
	const pod = "nameserver 10.96.0.10\nsearch lab.svc.k8s.example svc.k8s.example k8s.example corp.example\noptions ndots:5\n"
	for _, c := range []struct{ conf, name, want string }{
		{pod, "greeter.lab.svc", "greeter.lab.svc.k8s.example."},
		{"search lab.svc.cluster.local svc.cluster.local. cluster.local.", "greeter.lab.svc", "greeter.lab.svc.cluster.local."},
		{pod, "lab.svc", "lab.svc.k8s.example."},
		{pod, "greeter.rpclab.local", "greeter.rpclab.local"},
		{"search corp.example\n", "greeter.lab.svc", "greeter.lab.svc"},
		{"", "greeter.lab.svc", "greeter.lab.svc"},
	} {
		if got := completeNameBy(c.conf, c.name); got != c.want {
			t.Errorf("with the resolv.conf %q, %q becomes %q, want %q", c.conf, c.name, got, c.want)
		}
	}
}
