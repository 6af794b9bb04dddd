package decode

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/bufbuild/protocompile"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	rpclabv1 "rpclab/api/rpclab/v1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Check accepts exactly the messages that proto.Unmarshal accepts: of valid messages, and of those with
// some bytes changed, added or cut off.
func TestCheckAgreesWithUnmarshal(t *testing.T) {
	values, err := structpb.NewStruct(map[string]any{"a": []any{1, "two", nil, true, map[string]any{"b": 2.5}}, "ü": "ä"})
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	tree := dynamicpb.NewMessage(treeType(t))
	if err := proto.Unmarshal([]byte("\x12\x01a\x0b\x12\x01b\x0b\x0c\x0c\x0b\x0c"), tree); err != nil {
		t.Fatal(err)
	}
	for _, valid := range []proto.Message{
		tree,
		values, &rpclabv1.HelloReply{Message: "Hello, wörld"}, wrapperspb.Double(2), wrapperspb.Bytes([]byte("\xff")), // not UTF-8
		&descriptorpb.FileDescriptorProto{ // proto2, with packed and required fields within
			Name: proto.String("a"), PublicDependency: []int32{1, 300}, SourceCodeInfo: &descriptorpb.SourceCodeInfo{
				Location: []*descriptorpb.SourceCodeInfo_Location{{Path: []int32{1, 2, 1000}, Span: []int32{1}}},
			},
			Options: &descriptorpb.FileOptions{UninterpretedOption: []*descriptorpb.UninterpretedOption{{
				Name: []*descriptorpb.UninterpretedOption_NamePart{{NamePart: proto.String("n"), IsExtension: proto.Bool(true)}},
			}}},
		},
	} {
		of := valid.ProtoReflect().Descriptor()
		check := New(of)
		message, err := proto.Marshal(valid)
		if err != nil {
			t.Fatal(err)
		}
		accepted := 0
		for range 20_000 {
			changed := append([]byte(nil), message...)
			for range random.IntN(4) {
				switch at := random.IntN(len(changed)); random.IntN(3) {
				case 0:
					changed[at] = byte(random.Uint32())
				case 1:
					changed = append(changed[:at], append([]byte{byte(random.Uint32())}, changed[at:]...)...)
				case 2:
					if at > 0 {
						changed = changed[:at]
					}
				}
			}
			want := proto.UnmarshalOptions{AllowPartial: true}.Unmarshal(changed, valid.ProtoReflect().New().Interface())
			if got := check.Check(changed); (got == nil) != (want == nil) {
				t.Fatalf("%s %x: Check returns %v, proto.Unmarshal %v", of.FullName(), changed, got, want)
			}
			if want == nil {
				accepted++
			}
		}
		if accepted < 5000 || accepted > 19_000 {
			t.Errorf("%s: %d of 20,000 messages are valid, want a share of both", of.FullName(), accepted)
		}
	}
}

// treeType is a message whose field child is a group of the same type.
func treeType(t *testing.T) protoreflect.MessageDescriptor {
	t.Helper()
	const text = `edition = "2023"; message Tree { repeated Tree child = 1 [features.message_encoding = DELIMITED]; string name = 2; }`
	compiler := protocompile.Compiler{Resolver: protocompile.WithStandardImports(&protocompile.SourceResolver{
		Accessor: protocompile.SourceAccessorFromMap(map[string]string{"tree.proto": text}),
	})}
	files, err := compiler.Compile(t.Context(), "tree.proto")
	if err != nil {
		t.Fatal(err)
	}
	return files[0].Messages().ByName("Tree")
}

// Groups do not say how long they are. Each level read all levels within it once more, which took half a minute.
func TestGroupsWithinGroupsAreReadOnce(t *testing.T) {
	const levels, names = 9_000, 100_000
	begin, end := bytes.Repeat([]byte{0x0b}, levels), bytes.Repeat([]byte{0x0c}, levels)
	message := append(append(begin, bytes.Repeat([]byte{0x12, 0x00}, names)...), end...)
	check, began := New(treeType(t)), time.Now()
	if err := check.Check(message); err != nil {
		t.Fatal(err)
	}
	if err := check.Check(message[:len(message)-1]); err == nil {
		t.Error("a message whose last group does not end is valid")
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("%d bytes in %d levels took %v", len(message), levels, took)
	}
}

// Found by fuzzing: protobuf-go's dynamicpb panics on an entry of a map whose key comes twice, the second
// time with another wire type. Check builds no messages, and agrees with generated code.
func TestAnEntryOfAMapWithTwoKeys(t *testing.T) {
	check := New((&structpb.Struct{}).ProtoReflect().Descriptor())
	for _, entry := range []string{
		"\x0a\x01k\x08\x05\x12\x00", "\x0a\x01k\x0a\x01l\x12\x00", "\x08\x05\x0a\x01k", "\x08\x05", "\x12\x00\x10\x01", "\x0a\x01k\x0d\x00\x00", "\x0b\x0c", "\x0b",
	} {
		message := append([]byte{0x0a, byte(len(entry))}, entry...)
		want := proto.Unmarshal(message, &structpb.Struct{})
		if got := check.Check(message); (got == nil) != (want == nil) {
			t.Errorf("%x: Check returns %v, proto.Unmarshal %v", message, got, want)
		}
	}
}

func TestOnlyJSONBodiesAreChecked(t *testing.T) {
	for _, test := range []struct {
		body, contentType string
		valid             bool
	}{
		{`{"a": [1]}`, "application/json", true}, {`{"a": [1}`, "application/json", false}, {"", "application/json", false},
		{"<p>", "text/html", true}, {"<p>", "", true}, {"<p>", "application/problem+json; charset=utf-8", false},
		{"{}\n{}", "application/x-ndjson", true},
	} {
		if err := JSON([]byte(test.body), test.contentType); (err == nil) != test.valid {
			t.Errorf("%q of type %q: %v, want valid %v", test.body, test.contentType, err, test.valid)
		}
	}
}

func TestAValidResponseAllocatesNothing(t *testing.T) {
	message, of := example(t)
	check := New(of)
	if n := testing.AllocsPerRun(100, func() { _ = check.Check(message) }); n > 0 {
		t.Errorf("%g allocations a message, want none", n)
	}
	body := []byte(`{"message": "Hello"}`)
	if n := testing.AllocsPerRun(100, func() { _ = JSON(body, "application/json") }); n >= 1 {
		t.Errorf("%g allocations a body, want none", n)
	}
}

func example(t testing.TB) ([]byte, protoreflect.MessageDescriptor) {
	reply := &rpclabv1.HelloReply{Message: "Hello, you"}
	message, err := proto.Marshal(reply)
	if err != nil {
		t.Fatal(err)
	}
	return message, reply.ProtoReflect().Descriptor()
}

// What Check remembers of messages must not make it accept another one, whatever came before.
func TestEveryMessageIsCheckedAfterAValidOne(t *testing.T) {
	message, of := example(t)
	check := New(of)
	for i := range 100 {
		if err := check.Check(message); err != nil {
			t.Fatal(err)
		}
		if err := check.Check(message[:1+i%(len(message)-1)]); err == nil {
			t.Fatalf("a message that was cut off is valid after %d valid ones", i+1)
		}
		long := append(bytes.Repeat(message, 100), message[:2]...)
		if err := check.Check(long); err == nil {
			t.Fatal("a long message that was cut off is valid")
		}
	}
}

func BenchmarkCheck(b *testing.B) {
	message, of := example(b)
	other := bytes.Clone(message)
	b.Run("same", func(b *testing.B) {
		check := New(of)
		b.ReportAllocs()
		for b.Loop() {
			_ = check.Check(message)
		}
	})
	b.Run("different", func(b *testing.B) {
		check := New(of)
		b.ReportAllocs()
		for b.Loop() {
			other[len(other)-1] ^= 1 // of the text
			other[len(other)-2]++
			other[len(other)-2] &= 0x7f
			_ = check.Check(other)
		}
	})
}
