package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"rpclab/internal/analysis"
	"rpclab/internal/experiment"
	"rpclab/internal/report"
	"rpclab/internal/result"
)

// openStore opens the store in the user's data directory.
func openStore(open func(string) (*result.Store, error)) (*result.Store, error) {
	dir, err := result.DataDir()
	if err != nil {
		return nil, err
	}
	return open(dir)
}

// storedRuns reads runs from files and from the store, also from one that is read-only. It opens the store when it is
// first needed, so that files can be read without one.
type storedRuns struct{ opened *result.Store }

func (r *storedRuns) store() (_ *result.Store, err error) {
	if r.opened == nil {
		r.opened, err = openStore(result.OpenStoreToRead)
	}
	return r.opened, err
}

func (r *storedRuns) close() error {
	if r.opened == nil {
		return nil
	}
	return r.opened.Close()
}

// load reads a run from the store or from a file. A run whose process was killed is assembled
// from its trials.
func (r *storedRuns) load(ctx context.Context, ref string) (d result.Document, err error) {
	if strings.HasSuffix(ref, ".json") {
		return loadFile(ref)
	}
	store, err := r.store()
	if err != nil {
		return d, err
	}
	d, complete, err := store.Get(ctx, ref)
	if errors.Is(err, result.ErrUnknownRun) {
		return d, usageError{err}
	}
	if err != nil || complete {
		return d, err
	}
	return analysis.Assemble(d), nil
}

func loadFile(path string) (d result.Document, err error) {
	file, err := os.Open(path)
	if err != nil {
		return d, usageError{fmt.Errorf("cannot read the run in %s: %w", path, errors.Unwrap(err))}
	}
	defer file.Close()
	if d, err = result.Read(file); err != nil {
		return d, usageError{fmt.Errorf("%s: %w", path, err)}
	}
	return d, nil
}

// withRuns runs a command that only reads runs.
func withRuns(do func(*cobra.Command, *storedRuns, []string) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) (err error) {
		var runs storedRuns
		defer func() { err = errors.Join(err, runs.close()) }()
		return do(c, &runs, args)
	}
}

func withStore(open func(string) (*result.Store, error), do func(*cobra.Command, *result.Store, []string) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) (err error) {
		store, err := openStore(open)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, store.Close()) }()
		return do(c, store, args)
	}
}

// storeFlags say whether to store results for `rpclab runs`, and how many.
type storeFlags struct {
	noStore bool
	limit   sizeFlag
}

func (k *storeFlags) register(flags *pflag.FlagSet) {
	flags.BoolVar(&k.noStore, "no-store", false, "do not store the result in the user's data directory")
	k.registerLimit(flags)
}

func (k *storeFlags) registerLimit(flags *pflag.FlagSet) {
	flags.Var(&k.limit, "store-limit", "maximum `size` of all stored runs, such as 500Mi: after each run, rpclab removes the oldest runs until the rest fit, but not those with which gates compare (default: keep all)")
}

// largeStore is the size from which a store without a limit is mentioned.
const largeStore = 1 << 30

// open returns the store and a function that applies its limit and closes it. Hints of both go to out. The
// store is nil under --no-store.
func (k storeFlags) open(out io.Writer) (store *result.Store, done func() error, err error) {
	if k.noStore {
		return nil, func() error { return nil }, nil
	}
	if store, err = openStore(result.OpenStore); err != nil {
		return nil, nil, err
	}
	return store, func() error { return errors.Join(k.apply(out, store), store.Close()) }, nil
}

// apply removes the oldest runs beyond the limit.
func (k storeFlags) apply(out io.Writer, store *result.Store) error {
	ctx := context.Background() // also after an interrupt
	if k.limit == 0 {
		if size, err := store.Size(ctx); err == nil && size > largeStore {
			fmt.Fprintf(out, "rpclab: the stored runs take %s: remove some with 'rpclab runs rm --older-than 30d', or set a --store-limit\n", report.Size(size))
		}
		return nil
	}
	removed, err := store.Limit(ctx, uint64(k.limit))
	if len(removed) > 0 {
		fmt.Fprintf(out, "rpclab: removed the oldest runs, because of --store-limit %s: %s\n", k.limit.String(), strings.Join(removed, ", "))
	}
	if err != nil {
		return err
	}
	if err := store.Shrink(ctx); err != nil { // the run is whole, and the next one shrinks the file
		fmt.Fprintf(out, "rpclab: %v\n", err)
	}
	return nil
}

// sizeFlag is a size such as 500Mi; 0: not set.
type sizeFlag experiment.Bytes

func (s *sizeFlag) Type() string { return "size" }

func (s *sizeFlag) String() string {
	if *s == 0 {
		return ""
	}
	return experiment.Bytes(*s).String()
}

func (s *sizeFlag) Set(text string) error {
	bytes, err := experiment.ParseBytes(text)
	if err != nil || bytes == 0 {
		return errors.New("use a size such as 500Mi or 1.5Gi")
	}
	*s = sizeFlag(bytes)
	return nil
}
