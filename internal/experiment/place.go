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
	onCluster, onOther := runModesOn(server, on)
	if len(onCluster) == 0 || len(onOther) == 0 {
		return service
	}
	applies := func(key string, modes []string) bool {
		return slices.ContainsFunc(modes, func(mode string) bool { return slices.Contains(serverFields[mode], key) })
	}
	return service.with("server", server.without(func(key string) bool {
		return slices.Contains(onOther, key) || applies(key, onOther) && !applies(key, onCluster)
	}))
}

// runModesOn returns the fields that say how a server runs: those for a cluster, and those for the other.
func runModesOn(server *node, on string) (onCluster, onOther []string) {
	for _, p := range server.fields() {
		switch place := placeOf[p.key]; {
		case place == "":
		case (place == local) == (on == local || on == ""):
			onCluster = append(onCluster, p.key)
		default:
			onOther = append(onOther, p.key)
		}
	}
	return onCluster, onOther
}

// placeOf is the cluster of each field that says how a server runs.
var placeOf = map[string]string{
	"command": local, "addresses": local, "image": "kubernetes", "deployment": "kubernetes", "service": "kubernetes",
}
