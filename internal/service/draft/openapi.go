package draft

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"gopkg.in/yaml.v3"
)

// OpenAPI is the part of an OpenAPI document that a draft needs.
type OpenAPI struct {
	Title    string
	Requests []Request // those that only read first
}

// Request is an operation of an OpenAPI document with sample values.
type Request struct {
	ID, Method, Path string
	Body             *yaml.Node // nil: none
	Headers          [][2]string
	Comment          string // what the request lacks
}

// action is a template in a sample. Texts of the document are none, whatever they contain.
type action string

// requestMethods are those of which a service file can have calls, in the order of a draft.
var requestMethods = []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}

// ReadOpenAPI reads an OpenAPI document (version 3, JSON or YAML). It loads no other files.
func ReadOpenAPI(path string) (o OpenAPI, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return o, err
	}
	document, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		return o, fmt.Errorf("%s is no OpenAPI document of version 3 that stands alone: %w", path, err)
	}
	if !strings.HasPrefix(document.OpenAPI, "3.") {
		return o, fmt.Errorf("%s is no OpenAPI document of version 3: convert it to version 3", path)
	}
	if document.Paths.Len() == 0 {
		return o, fmt.Errorf("%s has no paths: rpclab reads OpenAPI documents of version 3", path)
	}
	o.Title = strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	if document.Info != nil {
		o.Title = cmp.Or(document.Info.Title, o.Title)
	}
	base, err := basePath(document.Servers)
	if err != nil {
		return o, fmt.Errorf("%s: %w", path, err)
	}
	for _, path := range slices.Sorted(maps.Keys(document.Paths.Map())) {
		item := document.Paths.Value(path)
		for _, method := range requestMethods {
			if operation := item.GetOperation(method); operation != nil {
				o.Requests = append(o.Requests, request(base+path, method, operation, parameters(item, operation)))
			}
		}
	}
	if len(o.Requests) == 0 {
		return o, fmt.Errorf("%s has no operations of the methods %s", path, strings.Join(requestMethods, ", "))
	}
	slices.SortStableFunc(o.Requests, func(a, b Request) int {
		return slices.Index(requestMethods, a.Method) - slices.Index(requestMethods, b.Method)
	})
	return o, nil
}

// basePath is the path of the first server's URL, with the defaults of its variables.
func basePath(servers openapi3.Servers) (string, error) {
	if len(servers) == 0 {
		return "", nil
	}
	if servers[0] == nil {
		return "", errors.New("servers[0] is empty: write its url, or leave out the entry")
	}
	text := servers[0].URL
	for name, variable := range servers[0].Variables {
		if variable == nil {
			return "", fmt.Errorf("servers[0].variables.%s is empty: write its default, or leave out the variable", name)
		}
		text = strings.ReplaceAll(text, "{"+name+"}", variable.Default)
	}
	u, err := url.Parse(text)
	if err != nil {
		return "", nil
	}
	return strings.TrimSuffix(u.Path, "/"), nil
}

// parameters are those of an operation, after those of its path that they do not replace.
func parameters(item *openapi3.PathItem, of *openapi3.Operation) openapi3.Parameters {
	replaced := func(p *openapi3.ParameterRef) bool {
		return slices.ContainsFunc(of.Parameters, func(by *openapi3.ParameterRef) bool {
			if p.Value == nil || by.Value == nil || p.Value.In != by.Value.In {
				return false
			}
			return p.Value.Name == by.Value.Name || p.Value.In == openapi3.ParameterInHeader && strings.EqualFold(p.Value.Name, by.Value.Name)
		})
	}
	return append(slices.DeleteFunc(slices.Clone(item.Parameters), replaced), of.Parameters...)
}

func request(path, method string, of *openapi3.Operation, parameters openapi3.Parameters) Request {
	r := Request{ID: cmp.Or(of.OperationID, strings.ToLower(method)+pathName(path)), Method: method}
	inPath := map[string]string{}
	var query []string
	for _, p := range parameters {
		p := p.Value
		if p == nil {
			continue
		}
		value := sampleOf(p.Example, p.Examples, p.Schema)
		switch {
		case p.In == openapi3.ParameterInPath:
			inPath[p.Name] = escaped(value, url.PathEscape)
		case p.In == openapi3.ParameterInQuery && p.Required:
			query = append(query, url.QueryEscape(p.Name)+"="+escaped(value, url.QueryEscape))
		case p.In == openapi3.ParameterInHeader && p.Required:
			r.Headers = append(r.Headers, [2]string{p.Name, escaped(value, literal)})
		}
	}
	r.Path = pathParameter.ReplaceAllStringFunc(path, func(name string) string {
		return cmp.Or(inPath[strings.Trim(name, "{}")], "1") // a number and a text
	})
	if len(query) > 0 {
		r.Path += "?" + strings.Join(query, "&")
	}
	if of.RequestBody != nil && of.RequestBody.Value != nil {
		r.body(of.RequestBody.Value.Content)
	}
	return r
}

// pathParameter matches a parameter in a path.
var pathParameter = regexp.MustCompile(`\{[^{}/]*\}`)

const form = "application/x-www-form-urlencoded"

// body adds a sample of a body of these types to the request.
func (r *Request) body(types openapi3.Content) {
	if media := types.Get("application/json"); media != nil {
		r.Body = node(inData(sampleOf(media.Example, media.Examples, media.Schema)))
		return
	}
	media := types.Get(form)
	if media == nil {
		if len(types) > 0 {
			r.Comment = "Its body is " + strings.Join(slices.Sorted(maps.Keys(types)), " or ") + ": write it into data as a text, and set content-type in metadata."
		}
		return
	}
	fields, _ := sampleOf(media.Example, media.Examples, media.Schema).(map[string]any)
	var pairs []string
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		values, several := fields[name].([]any)
		if !several {
			values = []any{fields[name]}
		}
		for _, value := range values {
			pairs = append(pairs, url.QueryEscape(name)+"="+escaped(value, url.QueryEscape))
		}
	}
	r.Body = text(strings.Join(pairs, "&"))
	r.Headers = append(r.Headers, [2]string{"content-type", form})
}

// inText writes a sample value in a path, a query or a header: of a list its first element, as a list of one, and an
// object as JSON.
func inText(value any) string {
	switch v := value.(type) {
	case []any:
		if len(v) == 0 {
			return ""
		}
		return inText(v[0])
	case map[string]any:
		text, _ := json.Marshal(v) // which was JSON or YAML
		return string(text)
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64) // fmt writes 1e+06
	}
	return fmt.Sprint(value)
}

// escaped writes a sample value in a path, a query or a header, and escapes it unless it is a template.
func escaped(value any, escape func(string) string) string {
	if template, ok := value.(action); ok {
		return string(template)
	}
	return escape(inText(value))
}

// literal escapes what would begin a template.
func literal(text string) string { return strings.ReplaceAll(text, "{{", "{{`{{`}}") }

// inData returns a sample value whose texts are literal, and whose integers are written in digits.
func inData(value any) any {
	switch v := value.(type) {
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
			return int64(v) // YAML has 1e+06 for a float64
		}
	case string:
		return literal(v)
	case []any:
		all := make([]any, len(v))
		for i := range v {
			all[i] = inData(v[i])
		}
		return all
	case map[string]any:
		all := map[string]any{}
		for name := range v {
			all[literal(name)] = inData(v[name])
		}
		return all
	}
	return value
}

// pathName writes /orders/{id} as OrdersId.
func pathName(path string) (name string) {
	for _, part := range strings.FieldsFunc(path, func(r rune) bool { return strings.ContainsRune("/{}-.", r) }) {
		name += strings.ToUpper(part[:1]) + part[1:]
	}
	return name
}

// sampleOf returns the example of a parameter or body, or else a sample of its schema.
func sampleOf(example any, examples openapi3.Examples, schema *openapi3.SchemaRef) any {
	if example != nil {
		return example
	}
	if value, ok := firstExample(examples); ok {
		return value
	}
	value, _ := (&sampler{left: maxObjects}).sample(schema, nil, 0)
	return value
}

func firstExample(examples openapi3.Examples) (any, bool) {
	for _, name := range slices.Sorted(maps.Keys(examples)) {
		if e := examples[name].Value; e != nil && e.Value != nil {
			return e.Value, true
		}
	}
	return nil, false
}

// maxObjects bounds the objects of a sample.
const maxObjects = 100

// sampler makes a sample of a schema.
type sampler struct{ left int } // objects that it may still make

// sample returns a value that a schema probably accepts, in so many objects. Within the objects that contain it, a schema
// does not appear again: then, and where the sample would be too large, known is false.
func (m *sampler) sample(ref *openapi3.SchemaRef, within []*openapi3.Schema, depth int) (value any, known bool) {
	if ref == nil || ref.Value == nil {
		return "text", true
	}
	s := ref.Value
	if slices.Contains(within, s) {
		return nil, false
	}
	within = append(within[:len(within):len(within)], s)
	for _, given := range []any{s.Example, s.Const, s.Default} {
		if given != nil {
			return given, true
		}
	}
	for _, some := range [][]any{s.Examples, s.Enum} {
		if len(some) > 0 {
			return some[0], true
		}
	}
	for _, alternatives := range []openapi3.SchemaRefs{s.OneOf, s.AnyOf} {
		if len(alternatives) > 0 {
			notNull := func(a *openapi3.SchemaRef) bool { return a.Value == nil || typeOf(a.Value) != openapi3.TypeNull }
			return m.sample(alternatives[max(0, slices.IndexFunc(alternatives, notNull))], within, depth)
		}
	}
	typ := typeOf(s)
	switch {
	case typ == openapi3.TypeInteger, typ == openapi3.TypeNumber:
		if s.Min != nil {
			return *s.Min, true
		}
		return 1, true
	case typ == openapi3.TypeBoolean:
		return true, true
	case typ == openapi3.TypeArray:
		if one, ok := m.sample(s.Items, within, depth); ok {
			return []any{one}, true
		}
		return []any{}, true
	case typ == openapi3.TypeObject, len(s.Properties) > 0, len(s.AllOf) > 0:
		if m.left == 0 || depth > maxDepth {
			return nil, false
		}
		m.left--
		return m.object(s, within, depth), true
	}
	if typ == openapi3.TypeNull {
		return nil, true
	}
	if s.Format == "uuid" {
		return action("{{uuid}}"), true
	}
	return cmp.Or(map[string]string{"date": "2026-01-31", "date-time": "2026-01-31T12:00:00Z", "email": "name@example.org"}[s.Format], "text"), true
}

// typeOf returns the first type of a schema that is not null, or null if it has no other; empty: the schema has none.
func typeOf(s *openapi3.Schema) (first string) {
	for _, first = range s.Type.Slice() {
		if first != openapi3.TypeNull {
			break
		}
	}
	return first
}

func (m *sampler) object(s *openapi3.Schema, within []*openapi3.Schema, depth int) map[string]any {
	fields := map[string]any{}
	for _, part := range s.AllOf {
		value, _ := m.sample(part, within, depth)
		if of, ok := value.(map[string]any); ok {
			maps.Copy(fields, of)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		property := s.Properties[name]
		if property.Value != nil && property.Value.ReadOnly {
			continue
		}
		if value, ok := m.sample(property, within, depth+1); ok {
			fields[name] = value
		}
	}
	return fields
}

// node returns a value as YAML on one line.
func node(v any) *yaml.Node {
	out := &yaml.Node{}
	if err := out.Encode(v); err != nil {
		return text("text")
	}
	flowing(out)
	if size(out) > maxFlow {
		out.Style = 0 // a field on each line
	}
	return out
}

func flowing(n *yaml.Node) {
	n.Style |= yaml.FlowStyle
	for _, child := range n.Content {
		flowing(child)
	}
}

// call returns the request as a call of a service file.
func (r Request) call() *yaml.Node {
	out := mapping()
	add(out, "http", text(r.Method))
	out.Content[0].HeadComment = r.Comment
	add(out, "path", text(r.Path))
	if r.Body != nil {
		add(out, "data", r.Body)
	}
	if len(r.Headers) > 0 {
		add(out, "metadata", pairs(r.Headers))
	}
	return out
}
