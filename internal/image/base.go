package image

import (
	"fmt"
	"io/fs"
	"os"
)

// bundles are the files in which systems keep the certificates of trusted authorities. Go
// programs read the first in the image (crypto/x509).
var bundles = []string{
	"/etc/ssl/certs/ca-certificates.crt", // Debian
	"/etc/pki/tls/certs/ca-bundle.crt",   // Fedora
	"/etc/ssl/cert.pem",                  // macOS, Alpine
}

// User is the user ID of processes in the image. No user of a node has it.
const User = 65532

// base is what every program expects: a user, a directory for temporary files, certificates.
func base() contents {
	files := map[string]file{
		"/etc/passwd": {mode: 0o644, text: fmt.Sprintf("root:x:0:0:root:/:/bin/false\nrpclab:x:%d:%d:rpclab:/tmp:/bin/false\n", User, User)},
		"/etc/group":  {mode: 0o644, text: fmt.Sprintf("root:x:0:\nrpclab:x:%d:\n", User)},
		"/tmp":        {mode: fs.ModeDir | fs.ModeSticky | 0o777},
	}
	for _, bundle := range bundles {
		if _, err := os.Stat(bundle); err == nil {
			files[bundles[0]] = file{mode: 0o644, from: bundle}
			break // without a bundle on this system, programs in the image trust no authority either
		}
	}
	return contents{"user and certificates", files}
}
