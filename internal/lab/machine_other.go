//go:build !linux

package lab

import "rpclab/internal/result"

func describe(*result.Machine) {}
