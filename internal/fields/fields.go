// Package fields finds the fields that a template (text/template) uses.
package fields

import (
	"slices"
	"text/template"
	"text/template/parse"
)

// Of returns the names of the fields that a parsed template uses, as often as it does: Address of {{.Address}}.
func Of(t *template.Template) []string {
	if t.Tree == nil { // it is empty
		return nil
	}
	return of(t.Root)
}

func of(node parse.Node) (names []string) {
	switch n := node.(type) {
	case *parse.ListNode:
		if n != nil {
			for _, child := range n.Nodes {
				names = append(names, of(child)...)
			}
		}
	case *parse.ActionNode:
		return of(n.Pipe)
	case *parse.IfNode:
		return of(&n.BranchNode)
	case *parse.WithNode:
		return of(&n.BranchNode)
	case *parse.RangeNode:
		return of(&n.BranchNode)
	case *parse.BranchNode:
		return slices.Concat(of(n.Pipe), of(n.List), of(n.ElseList))
	case *parse.PipeNode:
		for _, command := range n.Cmds {
			names = append(names, of(command)...)
		}
	case *parse.CommandNode:
		for _, argument := range n.Args {
			names = append(names, of(argument)...)
		}
	case *parse.FieldNode:
		return n.Ident[:1]
	case *parse.VariableNode: // Ident of {{$.Address}} is $, Address
		if n.Ident[0] == "$" && len(n.Ident) > 1 {
			return n.Ident[1:2]
		}
	}
	return names
}
