package tool

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// policy is what Debian's packages ask before they start a service (invoke-rc.d(8)): with
// 101 it is forbidden.
const policy = "/usr/sbin/policy-rc.d"

const policyMark = "# made by rpclab doctor --install"

// quietly does something in which packages start no services. What the administrator says of
// services stays as it is; ours holds no longer than this process lives, however it ends.
func quietly(policy string, do func() error) error {
	text, err := os.ReadFile(policy)
	switch {
	case err == nil && !bytes.Contains(text, []byte(policyMark)):
		return do()
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	}
	ours := fmt.Sprintf("#!/bin/sh\n%s, which removes it\nif kill -0 %d 2>/dev/null; then exit 101; fi\n", policyMark, os.Getpid())
	if err := os.WriteFile(policy, []byte(ours), 0o755); err != nil {
		return fmt.Errorf("forbid packages to start services: %w", err)
	}
	return errors.Join(do(), os.Remove(policy))
}
