package security

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"strings"

	"google.golang.org/grpc/metadata"
)

// HasBearer reports whether the value of an authorization header is the bearer token. It compares
// digests, so that the time depends on neither the contents nor the lengths.
func HasBearer(authorization, token string) bool {
	given, want := sha256.Sum256([]byte(authorization)), sha256.Sum256([]byte("Bearer "+token))
	return subtle.ConstantTimeCompare(given[:], want[:]) == 1
}

// CallHasBearer is HasBearer for the metadata of an incoming gRPC call.
func CallHasBearer(ctx context.Context, token string) bool {
	return HasBearer(strings.Join(metadata.ValueFromIncomingContext(ctx, TokenKey), ""), token)
}
