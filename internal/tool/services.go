package tool

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// policyFile is the script that Debian packages run before they start a service (invoke-rc.d(8)).
// Its exit code 101 forbids the start.
const policyFile = "/usr/sbin/policy-rc.d"

// policyMark identifies our own policy file.
const policyMark = "# made by rpclab doctor --install"

// withoutServices runs install while packages may not start services. It leaves an administrator's
// policy as it is. Our own policy has no effect once this process has ended, in whatever way.
func withoutServices(policy string, install func() error) error {
	text, err := os.ReadFile(policy)
	switch {
	case err == nil && !bytes.Contains(text, []byte(policyMark)):
		return install()
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	}
	ours, err := ownPolicy()
	if err == nil {
		err = os.WriteFile(policy, ours, 0o755)
	}
	if err != nil {
		return fmt.Errorf("forbid packages to start services: %w", err)
	}
	return errors.Join(install(), removePolicy(policy, ours))
}

// ownPolicy returns a policy that has an effect until this process ends. Later another process may have the same id,
// but not the same time of its start, the 22nd field of its line in /proc (proc(5)); the 2nd, its name, may have spaces.
func ownPolicy() ([]byte, error) {
	stat, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return nil, err
	}
	fields := strings.Fields(string(stat[bytes.LastIndex(stat, []byte(") "))+1:]))
	if len(fields) < 20 {
		return nil, fmt.Errorf("/proc/self/stat has no time of the start of this process: %q", stat)
	}
	return fmt.Appendf(nil, `#!/bin/sh
%s, which removes it
if { read -r line </proc/%d/stat; } 2>/dev/null; then
	set -- ${line##*) }
	if [ "${20}" = %s ]; then exit 101; fi
fi
`, policyMark, os.Getpid(), fields[19]), nil
}

// removePolicy removes our policy, unless another process has written its own since.
func removePolicy(policy string, ours []byte) error {
	text, err := os.ReadFile(policy)
	if err != nil || !bytes.Equal(text, ours) {
		return err
	}
	return os.Remove(policy)
}
