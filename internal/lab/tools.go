package lab

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"rpclab/internal/experiment"
	"rpclab/internal/route"
	"rpclab/internal/tool"
)

// versions asks the programs of others that the plan needs which they are, by name. One
// that is not on this machine stands elsewhere.
func versions(ctx context.Context, plan experiment.Plan) (map[string]string, error) {
	all := map[string]string{}
	for _, t := range plan.Trials {
		if err := versionOf(ctx, t.Config.Route, all); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// versionOf adds that of the program of a route, if it has one that is here.
func versionOf(ctx context.Context, name string, all map[string]string) error {
	way, err := route.Lookup(name)
	if err != nil {
		return err
	}
	if _, known := all[way.Tool]; known || way.Tool == "" {
		return nil
	}
	program, err := tool.Lookup(way.Tool)
	if err != nil {
		return err
	}
	path, err := tool.Find(way.Tool)
	if errors.Is(err, tool.ErrMissing) {
		return nil
	}
	if err != nil {
		return err
	}
	if all[way.Tool], err = program.Version(ctx, path); err != nil {
		return fmt.Errorf("route %s: ask for its version: %w", way.Name, err)
	}
	return nil
}

// checkTools says of every program that the plan needs and that is not there which arms
// need it and how to get it, before anything is started.
func checkTools(plan experiment.Plan) error {
	needed := map[string][]string{} // arms by tool
	var order []string
	for _, t := range plan.Trials {
		way, err := route.Lookup(t.Config.Route)
		if err != nil {
			return err
		}
		if way.Tool == "" || slices.Contains(needed[way.Tool], t.Arm) {
			continue
		}
		if needed[way.Tool] == nil {
			order = append(order, way.Tool)
		}
		needed[way.Tool] = append(needed[way.Tool], t.Arm)
	}
	var errs []error
	for _, name := range order {
		if _, err := tool.Find(name); err != nil {
			errs = append(errs, fmt.Errorf("for %s: %w", strings.Join(needed[name], ", "), err))
		}
	}
	return errors.Join(errs...)
}
