package h2

import (
	"bytes"
	"strconv"
	"strings"

	"golang.org/x/net/http2/hpack"
)

// Head is a header block of an answer, its first or its trailers. It is shared by
// all answers with the same block, and not to be changed.
type Head struct {
	Status     int    // :status; 0: none
	GRPCStatus int    // grpc-status; -1: none
	Message    string // grpc-message, decoded
	Encoding   string // grpc-encoding
	Type       string // content-type
	Backend    string // the field that [Limits.Backend] names
	Retry      string // grpc-retry-pushback-ms
}

const (
	memoEntries = 16  // servers use two or three blocks a method
	memoLongest = 512 // bytes of a block that is remembered
)

// heads decodes header blocks. While no block changes the peer's dynamic table, equal
// bytes mean equal fields, so a block that was seen before is not decoded again.
type heads struct {
	decoder *hpack.Decoder
	backend string
	most    uint32 // size of a decoded list, RFC 9113 section 6.5.2
	size    uint32
	next    Head
	bad     string
	memo    []remembered
	turn    int // the entry that is replaced next
}

type remembered struct {
	block []byte
	head  *Head
}

func newHeads(backend string, most uint32) *heads {
	h := &heads{backend: backend, most: most}
	h.decoder = hpack.NewDecoder(4096, h.field)
	h.decoder.SetMaxStringLength(int(most))
	h.decoder.SetAllowedMaxDynamicTableSize(4096)
	return h
}

// decode returns the fields of a block, or a violation.
func (h *heads) decode(block []byte) (*Head, error) {
	for i := range h.memo {
		if bytes.Equal(h.memo[i].block, block) {
			return h.memo[i].head, nil
		}
	}
	h.size, h.bad, h.next = 0, "", Head{GRPCStatus: -1}
	if _, err := h.decoder.Write(block); err != nil {
		return nil, violation(CompressionError, "header block: %v", err)
	}
	if err := h.decoder.Close(); err != nil {
		return nil, violation(CompressionError, "header block: %v", err)
	}
	if h.size > h.most {
		return nil, violation(EnhanceYourCalm, "a header list of over %d bytes; %d are the most", h.size, h.most)
	}
	if h.bad != "" {
		return nil, violation(ProtocolError, "%s", h.bad)
	}
	head := h.next
	switch {
	case changesTable(block):
		h.memo = h.memo[:0]
	case len(block) > memoLongest:
	case len(h.memo) < memoEntries:
		h.memo = append(h.memo, remembered{bytes.Clone(block), &head})
	default:
		h.memo[h.turn%memoEntries] = remembered{bytes.Clone(block), &head}
		h.turn++
	}
	return &head, nil
}

// field takes one field. A list that is too long is not kept, but decoded to its end.
func (h *heads) field(f hpack.HeaderField) {
	if h.size += f.Size(); h.size > h.most {
		h.decoder.SetEmitEnabled(false)
		return
	}
	switch f.Name {
	case ":status":
		n, err := strconv.Atoi(f.Value)
		if err != nil || n < 100 || n > 999 {
			h.bad = "the answer's :status is " + strconv.Quote(f.Value)
		}
		h.next.Status = n
	case "grpc-status":
		if n, err := strconv.ParseUint(f.Value, 10, 31); err == nil {
			h.next.GRPCStatus = int(n)
		} else {
			h.next.GRPCStatus, h.next.Message = Unknown, "the server's grpc-status is "+strconv.Quote(f.Value)
		}
	case "grpc-message":
		h.next.Message = unescape(f.Value)
	case "grpc-encoding":
		h.next.Encoding = f.Value
	case "content-type":
		h.next.Type = f.Value
	case h.backend:
		h.next.Backend = f.Value
	default:
		if strings.ToLower(f.Name) != f.Name {
			h.bad = "a field name with capitals: " + strconv.Quote(f.Name)
		}
	}
}

// unescape is the percent-decoding of grpc-message; what is not well-formed stays.
func unescape(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	var out strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				out.WriteByte(byte(n))
				i += 2
				continue
			}
		}
		out.WriteByte(s[i])
	}
	return out.String()
}

// changesTable walks over the representations of a well-formed block (RFC 7541
// section 6) and says whether one of them adds to the dynamic table or resizes it.
func changesTable(block []byte) bool {
	for len(block) > 0 {
		first := block[0]
		if first&0x80 != 0 { // indexed
			block = skipInt(block, 7)
			continue
		}
		if first&0x40 != 0 || first&0xe0 == 0x20 { // incremental indexing, size update
			return true
		}
		named := first&0x0f != 0
		block = skipInt(block, 4)
		if !named {
			block = skipString(block)
		}
		block = skipString(block)
	}
	return false
}

func skipInt(p []byte, bits int) []byte {
	_, rest := readInt(p, bits)
	return rest
}

func skipString(p []byte) []byte {
	n, rest := readInt(p, 7)
	return rest[min(n, len(rest)):]
}

func readInt(p []byte, bits int) (n int, rest []byte) {
	if len(p) == 0 {
		return 0, nil
	}
	most := 1<<bits - 1
	if n = int(p[0]) & most; n < most {
		return n, p[1:]
	}
	shift := 0
	for i, b := range p[1:] {
		if shift < 28 {
			n += int(b&0x7f) << shift
		}
		shift += 7
		if b&0x80 == 0 {
			return n, p[i+2:]
		}
	}
	return n, nil
}
