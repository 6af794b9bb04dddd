package experiment

import "slices"

// A service can say both how it runs on this machine and how on Kubernetes: server.command and server.image, say. This
// file leaves the one that a run uses. It also moves server.identity to where the rest of the program reads it.

// local is the cluster of this machine; another is kubernetes.
const local = "local"

// placeServers leaves in each service of a document how it runs on a cluster.
func (d *document) placeServers(on string) {
	services := d.root.get("services")
	if services == nil || services.kind != mapping {
		return
	}
	for _, p := range services.pairs {
		services = services.with(p.key, placeServer(p.value, on))
	}
	d.root = d.root.with("services", services)
}

// placeServer returns a service without the fields of its server that are of the other cluster, if the server has fields
// of both.
func placeServer(service *node, on string) *node {
	server := service.get("server")
	if identity := server.get("identity"); identity != nil && service.get("identity") == nil {
		server = server.without(func(key string) bool { return key == "identity" })
		service = service.with("server", server).with("identity", identity)
	}
	here, elsewhere := waysOn(server, on)
	if len(here) == 0 || len(elsewhere) == 0 {
		return service
	}
	applies := func(key string, ways []string) bool {
		return slices.ContainsFunc(ways, func(way string) bool { return slices.Contains(serverFields[way], key) })
	}
	return service.with("server", server.without(func(key string) bool {
		return slices.Contains(elsewhere, key) || applies(key, elsewhere) && !applies(key, here)
	}))
}

// waysOn returns the ways in which a server says that it runs: those on a cluster, and the others.
func waysOn(server *node, on string) (here, elsewhere []string) {
	for _, p := range server.fields() {
		switch place := placeOf[p.key]; {
		case place == "":
		case (place == local) == (on == local || on == ""):
			here = append(here, p.key)
		default:
			elsewhere = append(elsewhere, p.key)
		}
	}
	return here, elsewhere
}

// placeOf is the cluster of each way in which a server can run.
var placeOf = map[string]string{
	"command": local, "addresses": local, "image": "kubernetes", "deployment": "kubernetes", "service": "kubernetes",
}
