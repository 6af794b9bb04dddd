package service

import (
	"strings"
	"unicode/utf8"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/functions"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/overloads"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	"cel.dev/cel-go/interpreter"
)

// maxText is the longest text that a function of an expression may make, in bytes: twice the longest response.
const maxText = 8 << 20

// guards come before functions whose text can be far longer than their arguments, or whose time grows with the product
// of the lengths of two texts. Each returns an error or the value of the function; nil: CEL computes the value.
var guards = map[string]func(args []ref.Val) ref.Val{
	"replace": boundText("replace", replacedLength), "join": boundText("join", joinedLength), "format": boundText("format", formattedLength),
	"strings.quote":   boundText("strings.quote", quotedLength),
	"indexOf":         func(args []ref.Val) ref.Val { return search(args, false) },
	"lastIndexOf":     func(args []ref.Val) ref.Val { return search(args, true) },
	overloads.Matches: boundPattern,
}

// boundText makes a call fail whose text would be longer than maxText. length returns about how long it would be, and 0
// for arguments of other types.
func boundText(name string, length func(args []ref.Val) int) func(args []ref.Val) ref.Val {
	return func(args []ref.Val) ref.Val {
		if length(args) > maxText {
			return tooLong(name)
		}
		return nil
	}
}

// boundTexts bounds the memory and the time of functions of texts. CEL itself counts the cost of a call after the call,
// and only in expressions with loops.
func boundTexts(env *cel.Env) cel.ProgramOption {
	return cel.CustomDecoratorV2(func(part interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
		call, ok := part.(interpreter.InterpretableCall)
		if !ok {
			return part, nil
		}
		name := call.Function()
		guard := guards[name]
		switch {
		case name == operators.Add && call.OverloadID() != overloads.AddList:
			return boundedSum{call}, nil
		case guard == nil, name == overloads.Matches && isConstant(call.Args()[1]): // the file bounds its own patterns
			return part, nil
		}
		bindings, err := env.Functions()[name].Bindings()
		if err != nil {
			return nil, err
		}
		of := bindings[len(bindings)-1] // chooses among the overloads
		return interpreter.NewCall(call.ID(), name, call.OverloadID(), call.Args(), func(args ...ref.Val) ref.Val {
			if value := guard(args); value != nil {
				return value
			}
			return bounded(name, apply(of, args))
		}), nil
	})
}

func isConstant(part interpreter.InterpretableV2) bool {
	_, ok := part.(interpreter.InterpretableConst)
	return ok
}

// search is indexOf or lastIndexOf in a time that grows with the sum of the lengths. CEL compares the texts at each place.
// It returns nil for arguments of which CEL is fast: other types, an empty text to find, an offset outside of the text.
func search(args []ref.Val, last bool) ref.Val {
	text, ok := args[0].(types.String)
	find, findOK := args[1].(types.String)
	runes, offset := utf8.RuneCountInString(string(text)), 0
	if last {
		offset = runes - 1
	}
	if len(args) > 2 {
		from, fromOK := args[2].(types.Int)
		offset, ok = int(from), ok && fromOK
	}
	if !ok || !findOK || find == "" || offset < 0 || offset >= runes {
		return nil
	}
	at := byteOffset(string(text), offset)
	found := -1
	if last {
		found = strings.LastIndex(string(text[:min(at+len(find), len(text))]), string(find))
	} else if found = strings.Index(string(text[at:]), string(find)); found >= 0 {
		found += at
	}
	if found < 0 {
		return types.IntNegOne
	}
	return types.Int(utf8.RuneCountInString(string(text[:found])))
}

// byteOffset returns where the rune n of a text begins.
func byteOffset(text string, n int) int {
	for at := range text {
		if n == 0 {
			return at
		}
		n--
	}
	return len(text)
}

// boundPattern makes matches fail if the text and a pattern of a response are too long: its time grows with their product.
func boundPattern(args []ref.Val) ref.Val {
	const most, leastText = 30_000_000, 1000 // about a second; a pattern takes time by itself
	text, ok := args[0].(types.String)
	if !ok {
		return types.MaybeNoSuchOverloadErr(args[0])
	}
	if pattern := textLength(args[1]); max(len(text), leastText)*pattern > most {
		return types.NewErr("matches: the text has %d bytes and the pattern %d, which would take too long: use shorter texts", len(text), pattern)
	}
	return nil
}

// boundedSum is a sum, which may be that of texts.
type boundedSum struct{ interpreter.InterpretableCall }

// Exec implements [interpreter.InterpretableV2].
func (s boundedSum) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	return bounded("+", s.InterpretableCall.Exec(frame))
}

// Eval implements [interpreter.Interpretable].
func (s boundedSum) Eval(values interpreter.Activation) ref.Val {
	return s.Exec(interpreter.AsFrame(values))
}

func bounded(name string, made ref.Val) ref.Val {
	if textLength(made) > maxText {
		return tooLong(name)
	}
	return made
}

func tooLong(name string) ref.Val {
	return types.NewErr("%s would make a text of over %d bytes: use shorter texts", name, maxText)
}

func apply(of *functions.Overload, args []ref.Val) ref.Val {
	switch {
	case of.Function != nil:
		return of.Function(args...)
	case len(args) == 1:
		return of.Unary(args[0])
	}
	return of.Binary(args[0], args[1])
}

// textLength returns the bytes of a text, and 0 for other values.
func textLength(v ref.Val) int {
	switch v := v.(type) {
	case types.String:
		return len(v)
	case types.Bytes:
		return len(v)
	}
	return 0
}

func replacedLength(args []ref.Val) int {
	text, ok := args[0].(types.String)
	old, oldOK := args[1].(types.String)
	if !ok || !oldOK {
		return 0
	}
	n := strings.Count(string(text), string(old))
	if len(args) > 3 {
		if most, ok := args[3].(types.Int); ok && most >= 0 {
			n = min(n, int(most))
		}
	}
	return len(text) + n*(textLength(args[2])-len(old))
}

func joinedLength(args []ref.Val) (n int) {
	list, ok := args[0].(traits.Lister)
	if !ok {
		return 0
	}
	separator := 0
	if len(args) > 1 {
		separator = textLength(args[1])
	}
	for all := list.Iterator(); all.HasNext() == types.True && n <= maxText; {
		n += textLength(all.Next()) + separator
	}
	return n
}

func formattedLength(args []ref.Val) int { return textLength(args[0]) + shownLength(args[1], maxText) }

func quotedLength(args []ref.Val) int { return textLength(args[0]) }

// shownLength returns about how long the text of a value is in format. It stops at a length.
func shownLength(v ref.Val, most int) (n int) {
	const scalar = 2
	n = scalar + textLength(v)
	switch v := v.(type) {
	case traits.Mapper:
		for keys := v.Iterator(); keys.HasNext() == types.True && n <= most; {
			key := keys.Next()
			n += shownLength(key, most-n) + shownLength(v.Get(key), most-n)
		}
	case traits.Lister:
		for all := v.Iterator(); all.HasNext() == types.True && n <= most; {
			n += shownLength(all.Next(), most-n)
		}
	}
	return n
}

// textCost adds the cost of functions whose text CEL does not count, or counts only if it knows the types.
type textCost struct{}

// CallCost implements [interpreter.ActualCostEstimator]. A text costs a tenth of its bytes, as in CEL.
func (textCost) CallCost(name, _ string, args []ref.Val, made ref.Val) *uint64 {
	n := 0
	switch name {
	case operators.Add, "format", "strings.quote":
		n = textLength(made)
	case overloads.Size: // it reads the text
		n = textLength(args[0])
	}
	if n == 0 {
		return nil
	}
	cost := 1 + uint64(n/10)
	return &cost
}
