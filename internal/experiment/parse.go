package experiment

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// Documents beyond these limits are rejected before they cost time or memory.
const (
	maxBytes = 256 << 10
	maxDepth = 16
)

// parse reads one YAML document into a tree. It rejects anchors, aliases, merge keys and tags,
// so that readers see every value where it is used.
func parse(file string, doc []byte) (*node, error) {
	if len(doc) > maxBytes {
		return nil, Errors{{File: file, Message: fmt.Sprintf("the file has %d bytes; the limit is %d", len(doc), maxBytes)}}
	}
	decoder := yaml.NewDecoder(bytes.NewReader(doc))
	var first, second yaml.Node
	if err := decoder.Decode(&first); errors.Is(err, io.EOF) {
		return nil, Errors{{File: file, Message: "the file is empty; an experiment begins with `experiment: NAME`"}}
	} else if err != nil {
		return nil, syntaxError(file, doc, err)
	}
	if err := decoder.Decode(&second); err == nil {
		return nil, Errors{position{file, second.Line, second.Column}.error("a second document begins here; a file can contain only one experiment")}
	} else if !errors.Is(err, io.EOF) {
		return nil, syntaxError(file, doc, err)
	}
	p := parser{at: func(n *yaml.Node) position { return position{file, n.Line, n.Column} }}
	root := p.node(&first, 0)
	return root, p.err()
}

// parseValue reads a value of the command line. Errors about it name source as their position.
func parseValue(source, text string) (*node, error) {
	var n yaml.Node
	if err := yaml.Unmarshal([]byte(text), &n); err != nil {
		_, message := splitYAMLError(err)
		return nil, Errors{{File: source, Message: "not YAML: " + message}}
	}
	if n.Kind == 0 { // empty
		n = yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null"}
	}
	p := parser{at: func(*yaml.Node) position { return position{file: source} }}
	return p.node(&n, 0), p.err()
}

type parser struct {
	problems
	at func(*yaml.Node) position
}

func (p *parser) node(n *yaml.Node, depth int) *node {
	at := p.at(n)
	out := &node{at: at}
	switch {
	case n.Kind == yaml.DocumentNode:
		return p.node(n.Content[0], depth)
	case depth > maxDepth:
		p.add(at, "nested more than %d deep", maxDepth)
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		p.add(at, "anchors (&) and aliases (*) are not supported: write the value out")
	case n.Kind == yaml.MappingNode && n.Tag == "!!map":
		out.kind = mapping
		for i := 0; i+1 < len(n.Content); i += 2 {
			if key := n.Content[i]; p.key(key) {
				out.pairs = append(out.pairs, pair{key.Value, p.at(key), p.node(n.Content[i+1], depth+1)})
			}
		}
	case n.Kind == yaml.SequenceNode && n.Tag == "!!seq":
		out.kind = sequence
		for _, item := range n.Content {
			out.values = append(out.values, p.node(item, depth+1))
		}
	default:
		p.scalar(n, out)
	}
	return out
}

func (p *parser) key(key *yaml.Node) bool {
	switch {
	case key.Tag == "!!merge":
		p.add(p.at(key), "merge keys (<<) are not supported: write the fields out")
	case key.Kind != yaml.ScalarNode || key.Anchor != "":
		p.add(p.at(key), "the name of a field must be text")
	default:
		return true
	}
	return false
}

func (p *parser) scalar(n *yaml.Node, out *node) {
	out.text = n.Value
	switch n.Tag {
	case "!!str", "!!timestamp": // a time of day is text here
		out.value = n.Value
	case "!!null":
	case "!!int", "!!float", "!!bool":
		if err := n.Decode(&out.value); err != nil {
			p.add(out.at, "%q is not a value of type %s", n.Value, strings.TrimPrefix(n.Tag, "!!"))
		}
	default:
		p.add(out.at, "the tag %s is not supported", n.Tag)
	}
}

var yamlError = regexp.MustCompile(`^(?:yaml: )?(?:line (\d+): )?(.*)`)

func splitYAMLError(err error) (line int, message string) {
	m := yamlError.FindStringSubmatch(err.Error())
	line, _ = strconv.Atoi(m[1]) // no line given: 0
	return line, m[2]
}

// lookBack is how many lines back from the point of failure firstBadLine tries.
const lookBack = 40

// syntaxError finds the line of a syntax error. The parser often names the line where the
// enclosing structure begins. The better line follows the longest well-formed beginning of the
// document.
func syntaxError(file string, doc []byte, err error) error {
	line, message := splitYAMLError(err)
	return Errors{{File: file, Line: firstBadLine(doc, max(line, 1)), Message: "not YAML: " + message}}
}

func firstBadLine(doc []byte, reported int) int {
	read := &counter{rest: doc}
	decoder := yaml.NewDecoder(read)
	for {
		var n yaml.Node
		if decoder.Decode(&n) != nil {
			break
		}
	}
	lines := bytes.SplitAfter(doc[:read.taken], []byte("\n"))
	for tries := range lookBack {
		good := len(lines) - 1 - tries
		if good <= 0 {
			break
		}
		var n yaml.Node
		if yaml.Unmarshal(bytes.Join(lines[:good], nil), &n) == nil {
			return good + 1
		}
	}
	return reported
}

// counter passes a document on byte by byte, and counts the bytes that the parser read.
type counter struct {
	rest  []byte
	taken int
}

func (c *counter) Read(into []byte) (int, error) {
	if len(c.rest) == 0 || len(into) == 0 {
		return bytes.NewReader(c.rest).Read(into)
	}
	into[0], c.rest = c.rest[0], c.rest[1:]
	c.taken++
	return 1, nil
}
