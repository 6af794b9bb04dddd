package main

import (
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"rpclab/internal/result"
)

// keeping says whether results are kept for `rpclab runs`.
type keeping struct{ noStore bool }

func (k *keeping) register(flags *pflag.FlagSet) {
	flags.BoolVar(&k.noStore, "no-store", false, "do not keep the result in the user's data directory")
}

// open returns the store and what closes it. Nil: results are not kept.
func (k keeping) open() (store *result.Store, done func() error, err error) {
	if k.noStore {
		return nil, func() error { return nil }, nil
	}
	if store, err = openStore(); err != nil {
		return nil, nil, err
	}
	return store, store.Close, nil
}

// tell says how to see a result again.
func (k keeping) tell(c *cobra.Command, o outputs, id string) {
	if !k.noStore && o.json != "-" {
		fmt.Fprintf(c.OutOrStdout(), "\nSee it again: `rpclab report %s`\n", id)
	}
}

func openStore() (*result.Store, error) {
	dir, err := result.DataDir()
	if err != nil {
		return nil, err
	}
	return result.OpenStore(dir)
}
