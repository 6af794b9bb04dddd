package h2

import (
	"fmt"
	"slices"
)

// Field is one header field; its name is in lower case.
type Field struct{ Name, Value string }

// Request is a prepared header block in three forms. The first request of a connection adds its
// fields to the peer's table (RFC 7541 section 6.2.1). Later requests refer to the table. The
// plain form is for a peer without a table. The table holds the fields of one Request of a
// connection.
type Request struct {
	indexing, indexed, plain []byte
}

const tableRoom = 4096 // of the peer's dynamic table until it says otherwise, RFC 9113 section 6.5.2

// static are the entries of RFC 7541 appendix A that requests can use, by index.
var static = map[Field]int{
	{":authority", ""}: 1, {":method", "GET"}: 2, {":method", "POST"}: 3, {":path", "/"}: 4,
	{":scheme", "http"}: 6, {":scheme", "https"}: 7, {"accept", ""}: 19, {"authorization", ""}: 23,
	{"content-type", ""}: 31, {"user-agent", ""}: 58, {"content-length", ""}: 28, {"cookie", ""}: 32,
	{":method", ""}: 2, {":path", ""}: 4, {":scheme", ""}: 6,
}

// NewRequest prepares a header block; pseudo-header fields come first. It fails when the block is
// larger than a frame (16 KiB).
func NewRequest(fields []Field) (*Request, error) {
	if i := slices.IndexFunc(fields, func(f Field) bool { return f.Name == "" }); i >= 0 {
		return nil, fmt.Errorf("header field %d has no name", i+1)
	}
	r := &Request{}
	size := 0
	var taught []int // fields in the table, oldest first
	for i, f := range fields {
		if index, ok := static[f]; ok && f.Value != "" {
			one := appendInt(nil, 0x80, 7, index)
			r.indexing, r.plain = append(r.indexing, one...), append(r.plain, one...)
			continue
		}
		r.plain = appendLiteral(r.plain, 0x00, 4, f)
		if size += len(f.Name) + len(f.Value) + 32; size > tableRoom { // RFC 7541 section 4.1
			r.indexing = appendLiteral(r.indexing, 0x00, 4, f)
			continue
		}
		r.indexing = appendLiteral(r.indexing, 0x40, 6, f)
		taught = append(taught, i)
	}
	for i, f := range fields {
		if index, ok := static[f]; ok && f.Value != "" {
			r.indexed = appendInt(r.indexed, 0x80, 7, index)
		} else if at := slices.Index(taught, i); at >= 0 {
			r.indexed = appendInt(r.indexed, 0x80, 7, 61+len(taught)-at) // the newest is 62
		} else {
			r.indexed = appendLiteral(r.indexed, 0x00, 4, f)
		}
	}
	if n := max(len(r.plain), len(r.indexing)); n >= maxFrame {
		return nil, fmt.Errorf("the metadata makes a header block of %d bytes; the limit is %d", n, maxFrame-1)
	}
	for _, block := range []*[]byte{&r.indexing, &r.indexed, &r.plain} {
		*block = append(appendFrame(nil, len(*block), frameHeaders, flagEndHeaders, 0), *block...)
	}
	return r, nil
}

func appendLiteral(to []byte, pattern byte, bits int, f Field) []byte {
	index := static[Field{Name: f.Name}]
	to = appendInt(to, pattern, bits, index)
	if index == 0 {
		to = appendString(to, f.Name)
	}
	return appendString(to, f.Value)
}

func appendString(to []byte, s string) []byte { return append(appendInt(to, 0, 7, len(s)), s...) }

// appendInt is RFC 7541 section 5.1.
func appendInt(to []byte, pattern byte, bits, n int) []byte {
	most := 1<<bits - 1
	if n < most {
		return append(to, pattern|byte(n))
	}
	to = append(to, pattern|byte(most))
	for n -= most; n >= 0x80; n >>= 7 {
		to = append(to, byte(n)|0x80)
	}
	return append(to, byte(n))
}
