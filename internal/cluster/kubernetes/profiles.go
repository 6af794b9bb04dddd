package kubernetes

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// allowedSysctls are the kernel parameters that the restricted Pod Security Standard lets pods set.
var allowedSysctls = []string{
	"kernel.shm_rmid_forced", "net.ipv4.ip_local_port_range", "net.ipv4.ip_local_reserved_ports", "net.ipv4.ip_unprivileged_port_start",
	"net.ipv4.ping_group_range", "net.ipv4.tcp_fin_timeout", "net.ipv4.tcp_keepalive_intvl", "net.ipv4.tcp_keepalive_probes",
	"net.ipv4.tcp_keepalive_time", "net.ipv4.tcp_rmem", "net.ipv4.tcp_syncookies", "net.ipv4.tcp_wmem",
}

// allowedSELinuxTypes are the SELinux types of the standard; the empty one is the default of the node.
var allowedSELinuxTypes = []string{"", "container_t", "container_init_t", "container_kvm_t", "container_engine_t"}

// forbiddenInPod lists the settings of a pod's security context that the restricted Pod Security Standard forbids. The
// server may depend on them, so a copy does not omit them.
func forbiddenInPod(s *corev1.PodSecurityContext) (all []string) {
	if s == nil {
		return nil
	}
	for _, sysctl := range s.Sysctls {
		if !slices.Contains(allowedSysctls, sysctl.Name) {
			all = append(all, "the kernel parameter "+sysctl.Name)
		}
	}
	return append(all, forbiddenProfiles(s.SeccompProfile, s.AppArmorProfile, s.SELinuxOptions)...)
}

// forbiddenInContainer lists the same of a container's security context.
func forbiddenInContainer(s *corev1.SecurityContext) (all []string) {
	if s == nil {
		return nil
	}
	if s.ProcMount != nil && *s.ProcMount != corev1.DefaultProcMount {
		all = append(all, "the whole of /proc")
	}
	return append(all, forbiddenProfiles(s.SeccompProfile, s.AppArmorProfile, s.SELinuxOptions)...)
}

func forbiddenProfiles(seccomp *corev1.SeccompProfile, appArmor *corev1.AppArmorProfile, selinux *corev1.SELinuxOptions) (all []string) {
	if seccomp != nil && seccomp.Type == corev1.SeccompProfileTypeUnconfined {
		all = append(all, "the seccomp profile Unconfined")
	}
	if appArmor != nil && appArmor.Type == corev1.AppArmorProfileTypeUnconfined {
		all = append(all, "the AppArmor profile Unconfined")
	}
	if selinux != nil && (selinux.User != "" || selinux.Role != "" || !slices.Contains(allowedSELinuxTypes, selinux.Type)) {
		all = append(all, fmt.Sprintf("the SELinux options user %q, role %q, type %q", selinux.User, selinux.Role, selinux.Type))
	}
	return all
}
