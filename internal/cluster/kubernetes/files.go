package kubernetes

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"rpclab/internal/cluster"
)

// filesVolume is the name of the volume with files that no other volume has.
const filesVolume = "rpclab-files"

// filesOf is the Secret with the files of a program; none: it has no files.
func filesOf(scope objectScope, program *cluster.Program) []object {
	if len(program.Files) == 0 {
		return nil
	}
	data := map[string][]byte{}
	for inside, text := range program.Files {
		data[fileKey(inside)] = text
	}
	return []object{&corev1.Secret{ObjectMeta: scope.meta(filesName(program.Files), nil), Data: data}}
}

// filesName is the name of the Secret. Other contents have another name, so that the pods before a rollout keep theirs.
func filesName(files map[string][]byte) string {
	sum := sha256.New()
	for _, inside := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(sum, "%s %d\n%s", inside, len(files[inside]), files[inside])
	}
	return fmt.Sprintf("files-%x", sum.Sum(nil)[:6])
}

// fileKey is the key of a file in the Secret, in which paths cannot be keys.
func fileKey(inside string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(inside)))[:12] }

// filesSource is a volume of the Secret. Any user of the pod may read the files, as only its programs can reach them.
func filesSource(files map[string][]byte, items []corev1.KeyToPath) corev1.VolumeSource {
	mode := int32(0o444)
	return corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: filesName(files), Items: items, DefaultMode: &mode}}
}

// mountFiles mounts some files of a program, by path, one by one: other files of their directories stay.
func mountFiles(pod *corev1.PodSpec, into *corev1.Container, all map[string][]byte, some []string) {
	if len(some) == 0 {
		return
	}
	for _, inside := range some {
		into.VolumeMounts = append(into.VolumeMounts, corev1.VolumeMount{Name: filesVolume, MountPath: inside, SubPath: fileKey(inside), ReadOnly: true})
	}
	pod.Volumes = append(pod.Volumes, corev1.Volume{Name: filesVolume, VolumeSource: filesSource(all, nil)})
}

// replaceVolumes replaces files in volumes of a Secret or a ConfigMap by the files of a program that are below the paths at
// which the pod mounts them. Other files of a ConfigMap stay; rpclab does not read Secrets. It returns the files that are
// below none, and the volumes.
func replaceVolumes(pod *corev1.PodSpec, files map[string][]byte) (left, replaced []string) {
	left = slices.Sorted(maps.Keys(files))
	items := map[string]map[string]corev1.KeyToPath{} // by volume, and by path in the volume
	for _, v := range pod.Volumes {
		if v.Secret != nil || v.ConfigMap != nil || v.Projected != nil {
			items[v.Name] = map[string]corev1.KeyToPath{}
		}
	}
	for _, c := range slices.Concat(pod.InitContainers, pod.Containers) {
		for inside := range files {
			volume, below := shownBy(c.VolumeMounts, inside)
			if items[volume] == nil {
				continue
			}
			items[volume][below] = corev1.KeyToPath{Key: fileKey(inside), Path: below}
			left = slices.DeleteFunc(left, func(other string) bool { return other == inside })
		}
	}
	for i := range pod.Volumes {
		volume := &pod.Volumes[i]
		items := items[volume.Name]
		if len(items) == 0 {
			continue
		}
		var sorted []corev1.KeyToPath
		for _, below := range slices.Sorted(maps.Keys(items)) {
			sorted = append(sorted, items[below])
		}
		source := filesSource(files, sorted)
		if kept, mode := othersOf(*volume, items); len(kept) > 0 {
			source = corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{DefaultMode: mode, Sources: append(kept, corev1.VolumeProjection{
				Secret: &corev1.SecretProjection{LocalObjectReference: corev1.LocalObjectReference{Name: source.Secret.SecretName}, Items: sorted},
			})}}
		}
		volume.VolumeSource = source
		replaced = append(replaced, volume.Name)
	}
	return left, replaced
}

// othersOf are the sources of a volume that a copy has, without the paths of these files, and the mode of their files. Where
// a source names no paths, a later source with the same path replaces its file.
func othersOf(volume corev1.Volume, files map[string]corev1.KeyToPath) (kept []corev1.VolumeProjection, mode *int32) {
	replaced := func(at string) bool { _, ok := files[at]; return ok }
	var all []corev1.VolumeProjection
	if from := volume.ConfigMap; from != nil {
		mode = from.DefaultMode
		all = []corev1.VolumeProjection{{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: from.LocalObjectReference, Items: from.Items, Optional: from.Optional}}}
	} else if volume.Projected != nil {
		mode, all = volume.Projected.DefaultMode, volume.Projected.Sources
	}
	for _, source := range all {
		left := true
		if from := source.ConfigMap; from != nil && len(from.Items) > 0 {
			from.Items = slices.DeleteFunc(from.Items, func(i corev1.KeyToPath) bool { return replaced(i.Path) })
			left = len(from.Items) > 0
		} else if from := source.DownwardAPI; from != nil {
			from.Items = slices.DeleteFunc(from.Items, func(i corev1.DownwardAPIVolumeFile) bool { return replaced(i.Path) })
			left = len(from.Items) > 0
		}
		if left && (source.ConfigMap != nil || source.DownwardAPI != nil) {
			kept = append(kept, source)
		}
	}
	return kept, mode
}

// mountsOf are the mounts of a volume in all containers.
func mountsOf(pod *corev1.PodSpec, volume string) (mounts []corev1.VolumeMount) {
	for _, c := range slices.Concat(pod.InitContainers, pod.Containers) {
		for _, mount := range c.VolumeMounts {
			if mount.Name == volume {
				mounts = append(mounts, mount)
			}
		}
	}
	return mounts
}

// shownBy is the volume that shows a file to a container, by the deepest mount above the file, and the path of the file in
// that volume; none: no mount is above it.
func shownBy(mounts []corev1.VolumeMount, inside string) (volume, below string) {
	deepest := ""
	for _, mount := range mounts {
		if at, ok := pathIn(mount, inside); ok && len(path.Clean(mount.MountPath)) > len(deepest) {
			deepest, volume, below = path.Clean(mount.MountPath), mount.Name, at
		}
	}
	return volume, below
}

// pathIn is the path in its volume of a file that a mount shows; false: the mount does not show it.
func pathIn(mount corev1.VolumeMount, inside string) (below string, ok bool) {
	at := path.Clean(mount.MountPath)
	if mount.SubPathExpr != "" {
		return "", false
	}
	if inside == at && mount.SubPath != "" {
		return mount.SubPath, true
	}
	rest, ok := strings.CutPrefix(inside, at+"/")
	return path.Join(mount.SubPath, rest), ok
}
