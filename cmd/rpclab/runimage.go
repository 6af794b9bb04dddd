package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/spf13/pflag"

	"rpclab/internal/cluster/kubernetes"
	"rpclab/internal/experiment"
	"rpclab/internal/image"
	"rpclab/internal/language"
	"rpclab/internal/process"
	"rpclab/internal/tool"
)

// imageSource is the flags that say which image pods run, and how it gets to the nodes.
type imageSource struct{ name, load string }

func (s *imageSource) register(flags *pflag.FlagSet) {
	flags.StringVar(&s.name, "image", "", "`name` of the rpclab image on kubernetes (default: $RPCLAB_IMAGE; if that is empty too, rpclab builds the image that the run needs and loads it into the nodes)")
	flags.StringVar(&s.load, "load-image", "", "`command` that loads the archive of an image, its last argument, into the nodes (default: $RPCLAB_LOAD_IMAGE, or the command of kind, k3d or minikube, by the context)")
}

// imageNeeds is what the image of a run must contain.
type imageNeeds struct {
	tools     []tool.Tool
	languages []language.Language
}

// podImage is the image of a run's pods.
type podImage struct {
	name         string
	architecture string            // of its programs; empty: not known, because rpclab did not build it
	missing      map[string]string // why it lacks proxies, and programs in some languages, by name
}

// find returns the image of a run's pods. If the user names none and a node lacks the image that the run needs, find builds
// and loads it, which takes minutes: find fails first if this user lacks permissions of a run.
func (s imageSource) find(ctx context.Context, api *kubernetes.API, needs imageNeeds, bar *progress) (found podImage, err error) {
	if err := api.CheckPermissions(ctx); err != nil {
		return found, err
	}
	if name := cmp.Or(s.name, os.Getenv("RPCLAB_IMAGE")); name != "" {
		return podImage{name: name}, nil
	}
	dir, err := process.NewTempDir()
	if err != nil {
		return found, err
	}
	defer func() { err = errors.Join(err, dir.Remove()) }()
	bar.wait("looking for the image of this run on the nodes")
	contents := image.Options{Platform: platformOf(api.Nodes(ctx))}
	if contents.Programs, found.missing, err = buildPrograms(ctx, needs.languages, contents.Platform, bar.wait); err != nil {
		return found, err
	}
	contents.Tools = withoutMissing(needs.tools, contents.Platform, found.missing)
	if contents.Program, err = image.Program(ctx, contents.Platform, dir.Path); err != nil {
		return found, err
	}
	found.architecture = contents.Platform.Architecture
	found.name, err = s.provide(ctx, api, contents, filepath.Join(dir.Path, "image.tar"), bar)
	return found, err
}

// provide returns the name of an image. If a node lacks the image, provide builds it into an archive and loads it.
func (s imageSource) provide(ctx context.Context, api *kubernetes.API, contents image.Options, archive string, bar *progress) (name string, err error) {
	if name, err = image.Name(ctx, contents); err != nil {
		return "", err
	}
	full, err := image.FullName(name)
	if err != nil {
		return "", err
	}
	lacking, known := api.LacksImage(ctx, full, contents.Platform.Architecture)
	loader, command := s.loader(api)
	switch {
	case known && len(lacking) == 0:
		return name, nil
	case loader == nil && !known: // the nodes may have the image: a kubelet says if they do not
		return name, nil
	case loader == nil:
		return "", fmt.Errorf("nodes lack the image %s of this run: %s. rpclab loads images into clusters of kind, k3d and minikube, and the context is %s.\n%s\n"+
			"Or name a command that loads an archive into the nodes: --load-image COMMAND", name, strings.Join(lacking, ", "), cmp.Or(api.Context, "none"), pushInstead(name, contents, os.Args[1:]))
	}
	bar.wait("building the image " + name)
	built, err := image.Build(ctx, contents)
	if err == nil {
		err = image.WriteArchive(ctx, archive, name, built)
	}
	if err != nil {
		return "", err
	}
	bar.wait("loading the image into the nodes: " + command)
	if _, err := process.Run(ctx, process.Spec{Args: slices.Concat(loader, []string{archive})}); ctx.Err() != nil {
		return "", ctx.Err()
	} else if err != nil {
		return "", fmt.Errorf("cannot load the image %s into the nodes: %s: %w\n%s", name, command, err, pushInstead(name, contents, os.Args[1:]))
	}
	bar.note("Loaded the image " + name + " into the nodes: " + command)
	return name, nil
}

// withoutMissing returns the proxies that this machine has for an image of a platform, and adds to missing why it has no
// other.
func withoutMissing(proxies []tool.Tool, platform v1.Platform, missing map[string]string) (available []tool.Tool) {
	for _, proxy := range proxies {
		_, lacks := proxy.Find()
		if err := image.CheckPlatform(proxy.Name, platform); err != nil {
			missing[proxy.Name] = fmt.Sprintf("%v: push an image that `rpclab image build` makes on %s, and name it with --image", err, platform)
		} else if errors.Is(lacks, tool.ErrUnavailable) {
			missing[proxy.Name] = lacks.Error()
		} else {
			available = append(available, proxy)
		}
	}
	return available
}

// buildPrograms builds the programs of languages for an image of a platform. missing says why a language has none.
func buildPrograms(ctx context.Context, languages []language.Language, platform v1.Platform, show func(string)) (built []image.Programs, missing map[string]string, err error) {
	missing = map[string]string{}
	for _, l := range languages {
		if err := image.CheckPlatform("programs in "+l.Name, platform); err != nil {
			missing[l.Name] = err.Error()
			continue
		}
		show("building programs in " + l.Name)
		log := &lineWriter{say: func(line string) { show("building programs in " + l.Name + ": " + line) }}
		command, err := l.Build(ctx, nil, log)
		switch {
		case ctx.Err() != nil:
			return nil, nil, ctx.Err()
		case err != nil:
			missing[l.Name] = err.Error()
		default:
			built = append(built, image.Programs{Language: l.Name, Command: command})
		}
	}
	return built, missing, nil
}

// loader is the program and arguments that load the archive after them, and how to show them; nil: not known.
func (s imageSource) loader(api *kubernetes.API) (args []string, shown string) {
	if own := cmp.Or(s.load, os.Getenv("RPCLAB_LOAD_IMAGE")); own != "" {
		return []string{"sh", "-c", own + ` "$1"`, "sh"}, own
	}
	return api.LoadCommand, experiment.CommandLine(api.LoadCommand...)
}

// platformOf is the platform of this machine if a Linux node has it, or if rpclab knows no node, else that of a Linux node.
// A node where no pod of a run is scheduled, such as a tainted control plane, counts only if there is no other.
func platformOf(nodes []kubernetes.Node) v1.Platform {
	platform, _ := image.Platform("") // never fails for the default
	var schedulable, others []string  // architectures
	for _, node := range nodes {
		switch {
		case node.OS != platform.OS:
		case node.Unschedulable:
			others = append(others, node.Arch)
		default:
			schedulable = append(schedulable, node.Arch)
		}
	}
	if len(schedulable) == 0 {
		schedulable = others
	}
	if len(schedulable) > 0 && !slices.Contains(schedulable, platform.Architecture) {
		platform.Architecture = schedulable[0]
	}
	return platform
}

// pushInstead is the commands that push the image to a registry and repeat a command, by its arguments, with it.
func pushInstead(name string, contents image.Options, args []string) string {
	pushed := "REGISTRY/" + name
	build := []string{"rpclab", "image", "build", "--with", strings.Join(tool.Names(contents.Tools), ",")}
	for _, p := range contents.Programs {
		build = append(build, "--languages", p.Language)
	}
	if !image.RunsOnThisMachine(contents.Platform) {
		build = append(build, "--platform", contents.Platform.String())
	}
	build = append(build, "--push", pushed)
	run := slices.Concat([]string{"rpclab"}, args, []string{"--image", pushed})
	return fmt.Sprintf("Push it to a registry that the nodes can reach:\n  %s\n  %s", experiment.CommandLine(build...), experiment.CommandLine(run...))
}
