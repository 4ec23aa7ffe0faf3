import type { RefusalReason } from '@node-agent/contracts';
import { allContainers, appArmorProfileOf, asksForAppArmor, type Pod } from '@node-agent/pod-spec';

/** Handler for AppArmor profiles; compatible with `AdmitHandler` of kubelet-core. */
export interface AppArmorHandler {
  admit(pod: Pod): { readonly admit: true } | ({ readonly admit: false } & RefusalReason);
}

/**
 * Rejects pods that request an AppArmor profile if the kernel has no AppArmor, and profiles without a name. Only
 * pending pods are checked; a running pod is not checked again (`pkg/security/apparmor/validate.go`).
 */
export function appArmorHandler({ enabled }: { readonly enabled: boolean }): AppArmorHandler {
  return {
    admit(pod) {
      if ((pod.status?.phase ?? 'Pending') !== 'Pending' || !asksForAppArmor(pod)) return { admit: true };
      const problem = enabled ? emptyProfile(pod) : 'AppArmor is not enabled on the host';
      if (problem === undefined) return { admit: true };
      return { admit: false, reason: 'AppArmor', message: `Cannot enforce AppArmor: ${problem}` };
    },
  };
}

function emptyProfile(pod: Pod): string | undefined {
  for (const { container } of allContainers(pod)) {
    const profile = appArmorProfileOf(pod, container);
    if (profile?.type !== 'Localhost' || profile.localhostProfile?.trim()) continue;
    const { localhostProfile } = profile;
    const name = localhostProfile === undefined ? 'nil' : `*${localhostProfile}`;
    // The profile is formatted as Go prints the structure.
    const shown = `&AppArmorProfile{Type:Localhost,LocalhostProfile:${name},}`;
    return `invalid empty AppArmor profile name: ${JSON.stringify(shown)}`;
  }
  return undefined;
}
