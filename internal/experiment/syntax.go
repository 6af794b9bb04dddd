package experiment

import (
	"bytes"

	"gopkg.in/yaml.v3"
)

// lookBack is how many lines before the end of what the parser read are tried.
const lookBack = 40

// syntaxError places what the YAML parser complains of. The line that the parser
// names is often where the enclosing structure begins; the line wanted is the one
// after the longest part of the document, up to where it stopped reading, that is
// well-formed.
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

// counter hands out a document byte by byte, to know how far a parser read.
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
