package web

import (
	_ "embed"
	"encoding/json"
	"net/http"

	"sigs.k8s.io/yaml"
)

//go:embed openapi.yaml
var openAPIYAML []byte

// OpenAPI returns the description of the API as JSON.
func OpenAPI() ([]byte, error) { return yaml.YAMLToJSON(openAPIYAML) }

func (s *Server) openapi(*http.Request) (any, error) {
	text, err := OpenAPI()
	return json.RawMessage(text), err
}
