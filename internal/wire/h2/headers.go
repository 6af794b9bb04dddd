package h2

import (
	"bytes"
	"errors"
	"strconv"
	"strings"

	"golang.org/x/net/http2/hpack"
)

// Headers is a header block of a response: its headers or its trailers. All responses with the
// same block share it, so it must not be changed.
type Headers struct {
	Status     int    // :status; 0: none
	GRPCStatus int    // grpc-status; -1: none
	Message    string // grpc-message, decoded
	Encoding   string // grpc-encoding
	Type       string // content-type
	Length     int64  // content-length; -1: none, or no number
	Backend    string // the field that [Limits.Backend] names
	Malformed  string // what is wrong with the block, RFC 9113 section 8.1.1; "": nothing
}

const (
	memoSize     = 16  // servers use two or three blocks a method
	memoMaxBlock = 512 // bytes of a block that is remembered
)

// headerDecoder decodes header blocks. While no block changes the peer's dynamic table, equal
// bytes mean equal fields, so a known block is not decoded again.
type headerDecoder struct {
	decoder      *hpack.Decoder
	backend      string
	maxSize      uint32 // size of a decoded list, RFC 9113 section 6.5.2
	size         uint32
	read         int // bytes of the block so far
	next         Headers
	regular      bool // a field that is not a pseudo-header was seen
	memo         []memoEntry
	nextReplaced int // the entry that is replaced next
}

type memoEntry struct {
	block []byte
	head  *Headers
}

func newHeaderDecoder(backend string, most uint32) *headerDecoder {
	h := &headerDecoder{backend: backend, maxSize: most}
	h.decoder = hpack.NewDecoder(4096, h.field)
	// The decoder copies a string that is not complete with each frame, so that one of the whole list
	// would take a multiple of its memory.
	h.decoder.SetMaxStringLength(int(max(min(most, 4<<20), most/4)))
	h.decoder.SetAllowedMaxDynamicTableSize(4096)
	return h
}

// begin begins a block.
func (h *headerDecoder) begin() {
	h.size, h.read, h.regular, h.next = 0, 0, false, Headers{GRPCStatus: -1, Length: -1}
}

// write decodes a part of a block.
func (h *headerDecoder) write(part []byte) error {
	h.read += len(part)
	_, err := h.decoder.Write(part)
	switch {
	case h.size > h.maxSize || h.read > int(h.maxSize) || errors.Is(err, hpack.ErrStringLength):
		return violation(EnhanceYourCalm, "a header list of over %d bytes, or a field of over a quarter of it (raise the limit with rpclab load --max-header-list)", h.maxSize)
	case err != nil:
		return violation(CompressionError, "header block: %v", err)
	}
	return nil
}

// end returns the fields of a block that was written in parts. Such a block is not remembered, and may
// have changed the table.
func (h *headerDecoder) end() (*Headers, error) {
	if err := h.decoder.Close(); err != nil {
		return nil, violation(CompressionError, "header block: %v", err)
	}
	h.memo = h.memo[:0]
	head := h.next
	return &head, nil
}

// decode returns the fields of a block, or a violation.
func (h *headerDecoder) decode(block []byte) (*Headers, error) {
	for i := range h.memo {
		if bytes.Equal(h.memo[i].block, block) {
			return h.memo[i].head, nil
		}
	}
	h.begin()
	if err := h.write(block); err != nil {
		return nil, err
	}
	if err := h.decoder.Close(); err != nil {
		return nil, violation(CompressionError, "header block: %v", err)
	}
	changes, misplaced := changesTable(block)
	if misplaced {
		return nil, violation(CompressionError, "header block: the table is resized after a field") // RFC 7541 section 4.2
	}
	head := h.next
	switch {
	case changes:
		h.memo = h.memo[:0]
	case len(block) > memoMaxBlock:
	case len(h.memo) < memoSize:
		h.memo = append(h.memo, memoEntry{bytes.Clone(block), &head})
	default:
		h.memo[h.nextReplaced%memoSize] = memoEntry{bytes.Clone(block), &head}
		h.nextReplaced++
	}
	return &head, nil
}

// field handles one field. A list over the limit is decoded to its end, but not kept.
func (h *headerDecoder) field(f hpack.HeaderField) {
	if h.size += f.Size(); h.size > h.maxSize {
		h.decoder.SetEmitEnabled(false)
		return
	}
	if h.next.Malformed == "" {
		h.next.Malformed = h.malformed(f)
	}
	switch f.Name {
	case ":status":
		n, err := strconv.Atoi(f.Value)
		if err != nil || n < 100 || n > 999 || len(f.Value) != 3 {
			h.next.Malformed = "the response's :status is " + quoted(f.Value)
			n = 0
		}
		h.next.Status = n
	case "grpc-status":
		if n, err := strconv.ParseUint(f.Value, 10, 31); err == nil {
			h.next.GRPCStatus = int(n)
		} else {
			h.next.GRPCStatus, h.next.Message = Unknown, "the server's grpc-status is "+quoted(f.Value)
		}
	case "grpc-message":
		h.next.Message = unescape(shortened(f.Value))
	case "grpc-encoding":
		h.next.Encoding = shortened(f.Value)
	case "content-type":
		h.next.Type = shortened(f.Value)
	case "content-length":
		if n, err := strconv.ParseUint(f.Value, 10, 63); err == nil {
			h.next.Length = int64(n)
		}
	case h.backend:
		h.next.Backend = shortened(f.Value)
	}
}

// MaxKept is the most bytes of a field that are kept. More would only fill the memory.
const MaxKept = 4 << 10

func shortened(value string) string {
	if len(value) > MaxKept {
		return strings.Clone(value[:MaxKept])
	}
	return value
}

// quoted returns the beginning of a text that a message quotes.
func quoted(value string) string { return strconv.Quote(value[:min(len(value), 100)]) }

// malformed returns why a response must not have a field, RFC 9113 sections 8.2 and 8.3.
func (h *headerDecoder) malformed(f hpack.HeaderField) string {
	pseudo := strings.HasPrefix(f.Name, ":")
	switch {
	case pseudo && f.Name != ":status":
		return "a response with the field " + quoted(f.Name)
	case pseudo && (h.regular || h.next.Status != 0):
		return "a :status that is not the response's first field"
	case f.Name == "" || strings.ContainsFunc(f.Name, notInNames):
		return "a field with the name " + quoted(f.Name)
	case strings.ContainsAny(f.Value, "\x00\r\n"):
		return "a line break in the field " + quoted(f.Name)
	}
	switch f.Name {
	case "connection", "proxy-connection", "keep-alive", "transfer-encoding", "upgrade":
		return "a field that HTTP/2 does not have: " + quoted(f.Name)
	}
	h.regular = h.regular || !pseudo
	return ""
}

func notInNames(r rune) bool { return r <= ' ' || r >= 0x7f || 'A' <= r && r <= 'Z' }

// unescape decodes the percent-encoding of grpc-message. Invalid escapes stay as they are.
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

// changesTable walks over the representations of a well-formed block (RFC 7541 section 6). It
// reports whether one of them changes the dynamic table, and whether a size update is not at the
// start.
func changesTable(block []byte) (changes, misplaced bool) {
	for begun := false; len(block) > 0; {
		first := block[0]
		if first&0xe0 == 0x20 { // size update
			changes, misplaced = true, misplaced || begun
			block = skipInt(block, 5)
			continue
		}
		begun = true
		if first&0x80 != 0 { // indexed
			block = skipInt(block, 7)
			continue
		}
		bits := 4
		if first&0x40 != 0 { // incremental indexing
			changes, bits = true, 6
		}
		named, rest := readInt(block, bits)
		if block = rest; named == 0 {
			block = skipString(block)
		}
		block = skipString(block)
	}
	return changes, misplaced
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
