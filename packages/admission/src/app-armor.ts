import type { RefusalReason } from '@node-agent/contracts';
import { allContainers, appArmorProfileOf, asksForAppArmor, type Pod } from '@node-agent/pod-spec';

/** The handler's own shape: it is an `AdmitHandler` of kubelet-core. */
export interface AppArmorHandler {
  admit(pod: Pod): { readonly admit: true } | ({ readonly admit: false } & RefusalReason);
}

/**
 * Refuses pods that ask for an AppArmor profile where the kernel has no AppArmor, and profiles without a name; only while
 * they are pending: what runs already is not asked again (`pkg/security/apparmor/validate.go`).
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
    // As Go shows the whole of it.
    const shown = `&AppArmorProfile{Type:Localhost,LocalhostProfile:${name},}`;
    return `invalid empty AppArmor profile name: ${JSON.stringify(shown)}`;
  }
  return undefined;
}
