package service

import (
	"errors"
	"fmt"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/interpreter"
)

// costLimit is what one evaluation of an expression may cost, in units of CEL: about one for each operation. A million take about 0.2 s,
// and Kubernetes has the same limit for an expression.
const costLimit = 1_000_000

// newProgram returns the program of an expression, whose texts are bounded. A loop in it ends at the limit. An expression
// without loops has no limit of operations, because counting costs time in every call.
func newProgram(env *cel.Env, compiled *cel.Ast) (cel.Program, error) {
	loops := ast.MatchDescendants(ast.NavigateAST(compiled.NativeRep()), ast.KindMatcher(ast.ComprehensionKind))
	if len(loops) == 0 {
		return env.Program(compiled, boundTexts(env))
	}
	return env.Program(compiled, boundTexts(env), cel.CostLimit(costLimit), cel.CostTracking(textCost{}))
}

// explainCost says what to do about an expression that exceeded the limit.
func explainCost(err error) error {
	if cancelled, ok := errors.AsType[interpreter.EvalCancelledError](err); ok && cancelled.Cause == interpreter.CostLimitExceeded {
		return fmt.Errorf("its loops (all, exists, filter, map) exceed %d operations for one response: use fewer loops within loops", costLimit)
	}
	return err
}
