package image

import (
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"rpclab/internal/process"
)

// module is the name of this program's module in go.mod.
const module = "rpclab"

// Program is the path of this program for a platform. For the platform of this machine that is the
// running program, so the cluster runs the same build. For another platform Program builds it into
// dir, from the source tree that contains the working directory.
func Program(ctx context.Context, p v1.Platform, dir string) (string, error) {
	if RunsOnThisMachine(p) {
		return os.Executable()
	}
	root, err := source()
	if err != nil {
		return "", fmt.Errorf("this program does not run on %s and must be built for it: %w", p, err)
	}
	compiler, err := exec.LookPath("go")
	if err != nil {
		return "", fmt.Errorf("this program does not run on %s and must be built for it, but Go is missing: install it (https://go.dev/dl), or build the image on %s", p, p)
	}
	program := filepath.Join(dir, module)
	_, err = process.Run(ctx, process.Spec{
		Args: []string{compiler, "-C", root, "build", "-trimpath", "-o", program, module + "/cmd/" + module},
		Env:  []string{"CGO_ENABLED=0", "GOOS=" + p.OS, "GOARCH=" + p.Architecture},
	})
	if err != nil {
		return "", fmt.Errorf("build %s for %s in %s: %w", module, p, root, err)
	}
	return program, nil
}

// source is the root of the source tree that contains the working directory.
func source() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && strings.HasPrefix(string(text), "module "+module+"\n") {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("run this in the source tree of " + module + ", or build the image on that platform")
		}
		dir = filepath.Dir(dir)
	}
}

// machines are the machines of ELF files by architecture.
var machines = map[string]elf.Machine{
	"386": elf.EM_386, "amd64": elf.EM_X86_64, "arm": elf.EM_ARM, "arm64": elf.EM_AARCH64, "ppc64le": elf.EM_PPC64, "riscv64": elf.EM_RISCV, "s390x": elf.EM_S390,
}

// CheckProgram returns an error if a file is no program for a platform.
func CheckProgram(file string, p v1.Platform) error {
	program, err := read(file)
	if err != nil {
		return err
	}
	if want, known := machines[p.Architecture]; known && program.machine != want {
		return fmt.Errorf("%s is not a program for %s: build it with GOOS=%s GOARCH=%s", file, p, p.OS, p.Architecture)
	}
	return nil
}
