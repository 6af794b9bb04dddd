package service

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"google.golang.org/protobuf/reflect/protoreflect"

	"rpclab/internal/service/method"
)

// Flow is several calls that a load makes in their order. Templates of a call can use values of the answers before
// it. It is safe for concurrent use.
type Flow struct{ steps []step }

// step is one call of a flow.
type step struct {
	variable                 string // of its answer in expressions
	readsAnswer, readsFields bool   // a later call does; fields are headers and trailers
	values                   []value
}

// Names of the variables with the headers and the trailers of answers: headers.login.
const (
	headerVariables  = "headers."
	trailerVariables = "trailers."
)

// value is an expression over the answers of earlier calls.
type value struct {
	name, at string
	program  cel.Program
}

// Answers are the answers to the calls of a flow so far, by their variables in expressions: messages of gRPC, or what
// [Answer] returns, and their headers and trailers.
type Answers map[string]any

// NewFlow compiles the values that calls of gRPC methods take from earlier answers.
func NewFlow(calls []*Call) (*Flow, error) {
	var specs []Spec
	var types []protoreflect.MessageDescriptor
	for _, c := range calls {
		specs, types = append(specs, c.spec), append(types, c.output)
	}
	return newFlow(specs, types)
}

// NewHTTPFlow compiles the values that HTTP requests take from earlier answers.
func NewHTTPFlow(requests []Spec) (*Flow, error) {
	return newFlow(requests, make([]protoreflect.MessageDescriptor, len(requests)))
}

// CheckFlow checks the values of a flow as far as the methods of its calls are known. It returns whether they are read
// from headers or trailers.
func CheckFlow(specs []Spec) (readsFields bool, err error) {
	types := make([]protoreflect.MessageDescriptor, len(specs))
	for i, spec := range specs {
		if len(spec.Protos) == 0 {
			continue
		}
		source, err := method.FromDescriptors(spec.Protos)
		if err != nil {
			return false, err
		}
		found, err := method.Find(context.Background(), source, spec.Method)
		if err != nil {
			return false, spec.in("method", fmt.Errorf("call %s: %w", spec.Name, err))
		}
		types[i] = found.Output()
	}
	flow, err := newFlow(specs, types)
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(flow.steps, func(s step) bool { return s.readsFields }), nil
}

func newFlow(specs []Spec, types []protoreflect.MessageDescriptor) (*Flow, error) {
	flow := new(Flow)
	var earlier []answer
	for i, spec := range specs {
		env, err := newEnv(earlier)
		if err != nil {
			return nil, err
		}
		if env, err = env.Extend(fieldVariables(earlier)...); err != nil {
			return nil, err
		}
		added := step{variable: variableOf(spec)}
		if slices.Contains([]string{headerVariables, trailerVariables}, added.variable+".") {
			return nil, spec.in("", fmt.Errorf("the call %s of a flow is %s in expressions, which has another meaning: rename the call", spec.Name, added.variable))
		}
		for _, other := range specs[:i] {
			if other.Name != spec.Name && variableOf(other) == added.variable {
				return nil, spec.in("", fmt.Errorf("the calls %s and %s of a flow are both %s in expressions: rename one of them", other.Name, spec.Name, added.variable))
			}
		}
		for _, name := range slices.Sorted(maps.Keys(spec.From)) {
			at := fmt.Sprintf("from.%s of call %s", name, spec.Name)
			program, read, err := compileValue(env, spec.From[name])
			if err != nil && len(earlier) == 0 {
				err = fmt.Errorf("%w; no call is before %s in the flow", err, spec.Name)
			} else if err != nil {
				err = fmt.Errorf("%w; the answers before %s in the flow are %s", err, spec.Name, variables(earlier))
			}
			if err != nil {
				return nil, spec.in("from", fmt.Errorf("%s: %w", at, err))
			}
			added.values = append(added.values, value{name, at, program})
			for j := range flow.steps {
				of := &flow.steps[j]
				of.readsAnswer = of.readsAnswer || reads(read, of.variable)
				of.readsFields = of.readsFields || reads(read, headerVariables+of.variable) || reads(read, trailerVariables+of.variable)
			}
		}
		flow.steps = append(flow.steps, added)
		if !slices.ContainsFunc(earlier, func(a answer) bool { return a.name == added.variable }) {
			earlier = append(earlier, answer{added.variable, types[i]})
		}
	}
	return flow, nil
}

// fieldVariables declares the headers and trailers of answers.
func fieldVariables(of []answer) (all []cel.EnvOption) {
	for _, a := range of {
		for _, kind := range []string{headerVariables, trailerVariables} {
			all = append(all, cel.Variable(kind+a.name, cel.MapType(cel.StringType, cel.StringType)))
		}
	}
	return all
}

// variableOf returns the name of a call's answer in expressions.
func variableOf(s Spec) string { return strings.ReplaceAll(s.Name, "-", "_") }

func variables(answers []answer) string {
	var names []string
	for _, a := range answers {
		names = append(names, a.name)
	}
	return strings.Join(names, ", ")
}

// compileValue compiles an expression whose value becomes a text.
func compileValue(env *cel.Env, text string) (program cel.Program, compiled *cel.Ast, err error) {
	compiled, issues := env.Compile(text)
	if issues.Err() != nil {
		return nil, nil, fmt.Errorf("%q: %s", text, firstLine(issues.Err()))
	}
	single := []types.Kind{types.DynKind, types.StringKind, types.BytesKind, types.BoolKind, types.IntKind, types.UintKind, types.DoubleKind, types.TimestampKind, types.DurationKind}
	if kind := compiled.OutputType(); !slices.Contains(single, kind.Kind()) {
		return nil, nil, fmt.Errorf("%q is a value of type %s and not a text or a number: name one of its fields", text, kind)
	}
	if program, err = newProgram(env, compiled); err != nil {
		return nil, nil, fmt.Errorf("%q: %w", text, err)
	}
	return program, compiled, nil
}

// Reads reports what later calls read of the answer to a call: its message or body, and its headers or trailers.
func (f *Flow) Reads(call int) (answer, fields bool) {
	return f.steps[call].readsAnswer, f.steps[call].readsFields
}

// Add adds the answer to a call.
func (f *Flow) Add(answers Answers, call int, answer any) { answers[f.steps[call].variable] = answer }

// AddFields adds the headers and the trailers of the answer to a call. Names of several values have them joined by
// commas, and those that end in -bin in base64.
func (f *Flow) AddFields(answers Answers, call int, header, trailer map[string][]string) {
	variable := f.steps[call].variable
	answers[headerVariables+variable], answers[trailerVariables+variable] = fieldsOf(header), fieldsOf(trailer)
}

// fieldsOf returns headers or trailers as expressions have them: by their names in lower case.
func fieldsOf(md map[string][]string) map[string]string {
	all := make(map[string]string, len(md))
	for name, values := range md {
		if name = strings.ToLower(name); strings.HasSuffix(name, "-bin") {
			encoded := make([]string, len(values))
			for i, value := range values {
				encoded[i] = base64.RawStdEncoding.EncodeToString([]byte(value))
			}
			values = encoded
		}
		all[name] = strings.Join(values, ", ")
	}
	return all
}

// Values returns what a call takes from the answers before it.
func (f *Flow) Values(call int, answers Answers) (Values, error) {
	if len(f.steps[call].values) == 0 {
		return nil, nil
	}
	all := Values{}
	for _, v := range f.steps[call].values {
		got, _, err := v.program.Eval(map[string]any(answers))
		if err == nil {
			all[v.name], err = textOf(got)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", v.at, explainCost(err))
		}
	}
	return all, nil
}

// textOf returns a single value as a text, as JSON has it.
func textOf(v ref.Val) (string, error) {
	switch v := v.(type) {
	case types.Bytes:
		return base64.StdEncoding.EncodeToString(v), nil
	case types.Double:
		return strconv.FormatFloat(float64(v), 'f', -1, 64), nil
	case types.Null:
		return "", errors.New("the value is null")
	}
	text, ok := v.ConvertToType(types.StringType).Value().(string)
	if !ok {
		return "", fmt.Errorf("the value is of type %s and not a text or a number: name one of its fields", v.Type().TypeName())
	}
	return text, nil
}
