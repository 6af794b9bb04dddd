package experiment

import (
	"bytes"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// notShown replaces a value that results must not contain.
const notShown = "(not shown)"

// withoutSecrets returns the text of an experiment as results contain it: without the values of metadata, env and
// files, and without the paths of a client's certificate and key. Without such values the text is unchanged.
func withoutSecrets(text []byte) string {
	var root yaml.Node
	if yaml.Unmarshal(text, &root) != nil {
		return notShown // of a document that was read before
	}
	if !hideSecrets(&root) {
		return string(text)
	}
	var shown bytes.Buffer
	encoder := yaml.NewEncoder(&shown)
	encoder.SetIndent(2)
	if encoder.Encode(&root) != nil {
		return notShown
	}
	return shown.String()
}

// settingWithoutSecrets returns a setting, path=value, as results contain it: without what withoutSecrets leaves out.
func settingWithoutSecrets(setting string) string {
	path, text, _ := strings.Cut(setting, "=")
	var document yaml.Node
	if yaml.Unmarshal([]byte(text), &document) != nil || len(document.Content) == 0 {
		return setting // which is refused
	}
	value := document.Content[0]
	whole := value
	for _, step := range slices.Backward(strings.Split(strings.TrimSpace(path), ".")) {
		whole = &yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{{Kind: yaml.ScalarNode, Value: step}, whole}}
	}
	if !hideSecrets(whole) {
		return setting
	}
	shown, err := yaml.Marshal(value)
	if err != nil {
		return path + "=" + notShown
	}
	return path + "=" + strings.TrimSpace(string(shown))
}

func settingsWithoutSecrets(settings []string) (shown []string) {
	for _, setting := range settings {
		shown = append(shown, settingWithoutSecrets(setting))
	}
	return shown
}

// hideSecrets hides the secrets in a part of a document, and reports whether there were any.
func hideSecrets(n *yaml.Node) (found bool) {
	for i, child := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 1 {
			path := n.Content[i-1].Value // in quick, such as arms.own.caller.env; checkAxes refuses such a sweep
			switch path[strings.LastIndex(path, ".")+1:] {
			case "metadata", "env", "files":
				found = hideValues(child, nil) || found
			case "tls":
				found = hideValues(child, []string{"cert", "key"}) || found
			}
		}
		found = hideSecrets(child) || found
	}
	return found
}

// hideValues hides the values of some keys of a mapping; none: of all.
func hideValues(n *yaml.Node, keys []string) (found bool) {
	if n.Kind != yaml.MappingNode {
		return false // another field of this name
	}
	for i := 1; i < len(n.Content); i += 2 {
		if len(keys) == 0 || slices.Contains(keys, n.Content[i-1].Value) {
			hide(n.Content[i])
			found = true
		}
	}
	return found
}

func hide(n *yaml.Node) {
	if n.Kind == yaml.ScalarNode {
		n.Value, n.Tag, n.Style = notShown, "!!str", 0
	}
	for _, child := range n.Content { // a list of values
		hide(child)
	}
}
