package kubernetes

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// images are those that servers of a run have run.
type images struct {
	mu    sync.Mutex
	nodes map[string]map[string]string // a node, by name and ID of the image
}

// add adds the image of a pod on a node, and says which other images of this name the run has met. It returns an empty
// string if there is none, or the image is known already.
func (i *images) add(name, id, node string) string {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.nodes == nil {
		i.nodes = map[string]map[string]string{}
	}
	if i.nodes[name] == nil {
		i.nodes[name] = map[string]string{}
	}
	met := i.nodes[name]
	if id == "" || met[id] != "" {
		return ""
	}
	met[id] = node
	if len(met) == 1 {
		return ""
	}
	var texts []string
	for _, id := range slices.Sorted(maps.Keys(met)) {
		texts = append(texts, fmt.Sprintf("%s on node %s", id, met[id]))
	}
	return fmt.Sprintf("The pods of this run have run %d different images with the name %s: %s. The tag has moved: name an image by a tag that "+
		"does not move, or by its digest.", len(met), name, strings.Join(texts, ", "))
}

// ids returns the IDs of all images, by name.
func (i *images) ids() map[string][]string {
	i.mu.Lock()
	defer i.mu.Unlock()
	all := make(map[string][]string, len(i.nodes))
	for name, met := range i.nodes {
		if len(met) > 0 {
			all[name] = slices.Sorted(maps.Keys(met))
		}
	}
	return all
}
