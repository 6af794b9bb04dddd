package draft

import (
	"slices"
	"strconv"

	"google.golang.org/protobuf/reflect/protoreflect"
	"gopkg.in/yaml.v3"
)

// maxDepth bounds the messages within messages of a sample.
const maxDepth = 4

// maxFlow is how many values a sample may have on one line.
const maxFlow = 8

// sample returns a message in which every field has a value, as YAML. Of a oneof, it has the first field. A
// message does not contain another of its own type.
func sample(of protoreflect.MessageDescriptor) *yaml.Node {
	out := message(of, nil)
	if size(out) > maxFlow {
		out.Style = 0 // a field on each line
	}
	return out
}

func size(n *yaml.Node) int {
	if len(n.Content) == 0 {
		return 1
	}
	all := 0
	for _, child := range n.Content {
		all += size(child)
	}
	return all / min(2, len(n.Content)) // a key and its value count once
}

// message returns the sample of a message within messages of other types.
func message(of protoreflect.MessageDescriptor, within []protoreflect.FullName) *yaml.Node {
	if known := wellKnown(of); known != nil {
		return known
	}
	within = append(within[:len(within):len(within)], of.FullName())
	out := &yaml.Node{Kind: yaml.MappingNode, Style: yaml.FlowStyle}
	chosen := map[protoreflect.FullName]bool{}
	for i := range of.Fields().Len() {
		field := of.Fields().Get(i)
		if one := field.ContainingOneof(); one != nil && !one.IsSynthetic() {
			if chosen[one.FullName()] {
				continue
			}
			chosen[one.FullName()] = true
		}
		kind := field
		if field.IsMap() {
			kind = field.MapValue()
		}
		if inner := kind.Message(); inner != nil && (len(within) > maxDepth || slices.Contains(within, inner.FullName())) {
			continue
		}
		out.Content = append(out.Content, text(string(field.Name())), value(field, within))
	}
	return out
}

func value(field protoreflect.FieldDescriptor, within []protoreflect.FullName) *yaml.Node {
	switch {
	case field.IsMap():
		return &yaml.Node{Kind: yaml.MappingNode, Style: yaml.FlowStyle, Content: []*yaml.Node{
			text(key(field.MapKey())), single(field.MapValue(), within)}}
	case field.IsList():
		return &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle, Content: []*yaml.Node{single(field, within)}}
	}
	return single(field, within)
}

func key(field protoreflect.FieldDescriptor) string {
	switch field.Kind() {
	case protoreflect.StringKind:
		return "key"
	case protoreflect.BoolKind:
		return "true"
	}
	return "1"
}

func single(field protoreflect.FieldDescriptor, within []protoreflect.FullName) *yaml.Node {
	switch field.Kind() {
	case protoreflect.MessageKind, protoreflect.GroupKind:
		return message(field.Message(), within)
	case protoreflect.EnumKind:
		values := field.Enum().Values()
		return text(string(values.Get(min(1, values.Len()-1)).Name())) // the first usually means "not set"
	case protoreflect.BoolKind:
		return scalar("!!bool", "true")
	case protoreflect.StringKind:
		return text("text")
	case protoreflect.BytesKind:
		return text("Ynl0ZXM=") // base64, as JSON has it
	case protoreflect.FloatKind, protoreflect.DoubleKind:
		return scalar("!!float", "1.5")
	}
	return scalar("!!int", "1")
}

// wellKnown returns a sample of a type that has a form of its own in JSON; nil: it has none.
func wellKnown(of protoreflect.MessageDescriptor) *yaml.Node {
	switch of.FullName() {
	case "google.protobuf.Timestamp":
		return text("{{now}}")
	case "google.protobuf.Duration":
		return text("1s")
	case "google.protobuf.FieldMask":
		return text("")
	case "google.protobuf.Struct", "google.protobuf.Any", "google.protobuf.Empty":
		return &yaml.Node{Kind: yaml.MappingNode, Style: yaml.FlowStyle}
	case "google.protobuf.ListValue":
		return &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
	case "google.protobuf.Value":
		return text("text")
	case "google.protobuf.DoubleValue", "google.protobuf.FloatValue", "google.protobuf.Int64Value", "google.protobuf.UInt64Value",
		"google.protobuf.Int32Value", "google.protobuf.UInt32Value", "google.protobuf.BoolValue", "google.protobuf.StringValue", "google.protobuf.BytesValue":
		return single(of.Fields().ByName("value"), nil)
	}
	return nil
}

func text(s string) *yaml.Node {
	node := scalar("!!str", s)
	if s == "" || s[0] == '{' || s == "true" || isNumber(s) {
		node.Style = yaml.DoubleQuotedStyle
	}
	return node
}

func isNumber(s string) bool {
	_, err := strconv.ParseFloat(s, 64)
	return err == nil
}

func scalar(tag, value string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: value}
}
