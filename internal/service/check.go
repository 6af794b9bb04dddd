package service

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/ext"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"rpclab/internal/suggest"
)

// Check is a condition in CEL that a response has to meet. It is safe for concurrent use.
type Check struct {
	text                      string
	program                   cel.Program
	readsAnswer, readsHeaders bool
	failed                    atomic.Uint64 // messages that did not meet it
}

// CompileCheck compiles a condition about a response of a type, which it calls answer.
func CompileCheck(text string, of protoreflect.MessageDescriptor) (*Check, error) {
	env, err := newEnv([]answer{{"answer", of}})
	if err != nil {
		return nil, err
	}
	return compileCheck(env, text, append(namesWithin(of, map[protoreflect.FullName]bool{}), "answer"))
}

// CompileHTTPCheck compiles a condition about an HTTP response: its status, its headers by their names in
// lower case, and its body as answer, which is a value if the content type is JSON and else text. A body that is
// not read is not parsed.
func CompileHTTPCheck(text string) (*Check, error) {
	env, err := cel.NewEnv(ext.Strings(), cel.Variable("status", cel.IntType), cel.Variable("headers", cel.MapType(cel.StringType, cel.StringType)), cel.Variable("answer", cel.DynType))
	if err != nil {
		return nil, err
	}
	return compileCheck(env, text, []string{"status", "headers", "answer"})
}

// answer is a response in an expression.
type answer struct {
	name string
	of   protoreflect.MessageDescriptor // nil: a value of JSON, or not known yet
}

// newEnv returns an environment of expressions about responses.
func newEnv(answers []answer) (*cel.Env, error) {
	files := new(protoregistry.Files)
	var variables []cel.EnvOption
	for _, a := range answers {
		typ := cel.DynType
		if a.of != nil {
			if err := registerAll(files, a.of.ParentFile()); err != nil {
				return nil, err
			}
			typ = cel.ObjectType(string(a.of.FullName()))
		}
		variables = append(variables, cel.Variable(a.name, typ))
	}
	return cel.NewEnv(append([]cel.EnvOption{cel.TypeDescs(files), ext.Strings()}, variables...)...)
}

// compileCheck compiles a condition. names are those that it may have meant by one that is not known.
func compileCheck(env *cel.Env, text string, names []string) (*Check, error) {
	compiled, issues := env.Compile(text)
	if issues.Err() != nil {
		wrong := firstLine(issues.Err())
		return nil, fmt.Errorf("%q: %s%s", text, wrong, didYouMean(wrong, names))
	}
	if kind := compiled.OutputType(); !kind.IsExactType(cel.BoolType) && !kind.IsExactType(cel.DynType) {
		return nil, fmt.Errorf("%q is a value of type %s and not a condition: compare it with ==, < or >", text, kind)
	}
	program, err := newProgram(env, compiled)
	if err != nil {
		return nil, fmt.Errorf("%q: %w", text, err)
	}
	check := &Check{text: text, program: program}
	check.readsAnswer, check.readsHeaders = reads(compiled, "answer"), reads(compiled, "headers")
	return check, nil
}

// unknownName matches a name in the error of a compiler that does not know it.
var unknownName = regexp.MustCompile(`(?:undefined field|undeclared reference to) '(\w+)'`)

// didYouMean returns the end of such an error; empty: no name is similar.
func didYouMean(wrong string, names []string) string {
	found := unknownName.FindStringSubmatch(wrong)
	if found == nil || suggest.Similar(found[1], names) == "" {
		return ""
	}
	return suggest.DidYouMean(found[1], names)
}

// namesWithin returns the names of the fields of a message and of the messages in it. known are those that it has been in.
func namesWithin(of protoreflect.MessageDescriptor, known map[protoreflect.FullName]bool) (names []string) {
	known[of.FullName()] = true
	names = fieldNames(of)
	for i := range of.Fields().Len() {
		if inner := of.Fields().Get(i).Message(); inner != nil && !known[inner.FullName()] {
			names = append(names, namesWithin(inner, known)...)
		}
	}
	return names
}

func fieldNames(in protoreflect.MessageDescriptor) (names []string) {
	for i := range in.Fields().Len() {
		names = append(names, string(in.Fields().Get(i).Name()))
	}
	slices.Sort(names)
	return names
}

// reads reports whether an expression uses a variable.
func reads(compiled *cel.Ast, variable string) bool {
	for _, reference := range compiled.NativeRep().ReferenceMap() {
		if reference.Name == variable {
			return true
		}
	}
	return false
}

// firstLine returns the first error of a compiler, without its position in <input>.
func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	if _, message, ok := strings.Cut(line, "<input>:"); ok {
		if place, rest, ok := strings.Cut(message, ": "); ok {
			_, column, _ := strings.Cut(place, ":")
			return "column " + column + ": " + rest
		}
	}
	return line
}

// Message returns why a response does not meet the condition; nil: it does.
func (c *Check) Message(response proto.Message) error {
	err := c.eval(map[string]any{"answer": response})
	if err != nil && c.failed.Add(1) > maxDescribed {
		return err
	}
	if err != nil {
		return fmt.Errorf("%w; the response was %s", err, shown(response))
	}
	return nil
}

func (c *Check) eval(values map[string]any) error {
	got, _, err := c.program.Eval(values)
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", c.text, explainCost(err))
	case got.Value() != true:
		return errors.New(c.text + " is false")
	}
	return nil
}

// maxDescribed is how many errors show the response: it costs time, and reports have the first only.
const maxDescribed = 10

// maxShown is how much of a response an error shows, in bytes.
const maxShown = 300

func shown(response proto.Message) string {
	text, err := protojson.MarshalOptions{AllowPartial: true}.Marshal(response)
	if err != nil {
		return err.Error()
	}
	if len(text) > maxShown {
		return strings.ToValidUTF8(string(text[:maxShown]), "") + "…"
	}
	return string(text)
}

func registerAll(files *protoregistry.Files, file protoreflect.FileDescriptor) error {
	if _, err := files.FindFileByPath(file.Path()); err == nil {
		return nil
	}
	for i := range file.Imports().Len() {
		if err := registerAll(files, file.Imports().Get(i).FileDescriptor); err != nil {
			return err
		}
	}
	return files.RegisterFile(file)
}
