import type { AnyContainer, Pod, SecurityContext } from '@node-agent/pod-spec';
import type { Refusal } from './predicates.ts';

const ANNOTATION_PREFIX = 'container.apparmor.security.beta.kubernetes.io/';
const UNCONFINED = 'unconfined';
const LOCALHOST_PREFIX = 'localhost/';

/** The handler's own shape: it is an `AdmitHandler` of kubelet-core. */
export interface AppArmorHandler {
  admit(pod: Pod): { readonly admit: true } | ({ readonly admit: false } & Refusal);
}

/**
 * Refuses pods that ask for an AppArmor profile where the kernel has no AppArmor, and profiles without a name; only while
 * they are pending: what runs already is not asked again (`pkg/security/apparmor/validate.go`).
 */
export function appArmorHandler({ enabled }: { readonly enabled: boolean }): AppArmorHandler {
  return {
    admit(pod) {
      if ((pod.status?.phase ?? 'Pending') !== 'Pending' || !isRequired(pod)) return { admit: true };
      const problem = enabled ? emptyProfile(pod) : 'AppArmor is not enabled on the host';
      if (problem === undefined) return { admit: true };
      return { admit: false, reason: 'AppArmor', message: `Cannot enforce AppArmor: ${problem}` };
    },
  };
}

/** Whether anything of the pod is to be confined. */
function isRequired({ metadata, spec }: Pod): boolean {
  const profiles = [spec.securityContext, ...containers(spec).map(({ securityContext }) => securityContext)];
  if (profiles.some((context) => context?.appArmorProfile && context.appArmorProfile.type !== 'Unconfined'))
    return true;
  return Object.entries(metadata.annotations ?? {}).some(
    ([key, value]) => key.startsWith(ANNOTATION_PREFIX) && value !== UNCONFINED,
  );
}

function emptyProfile(pod: Pod): string | undefined {
  const isEmpty = containers(pod.spec).some((container) => {
    const profile = profileOf(pod, container);
    return profile?.type === 'Localhost' && (profile.localhostProfile ?? '').trim() === '';
  });
  return isEmpty ? 'invalid empty AppArmor profile name' : undefined;
}

/** The container's own, the one that the annotation of old names, the pod's. */
function profileOf({ metadata, spec }: Pod, container: AnyContainer): SecurityContext['appArmorProfile'] {
  const own = container.securityContext?.appArmorProfile;
  if (own !== undefined) return own;
  const annotation = metadata.annotations?.[`${ANNOTATION_PREFIX}${container.name}`];
  if (annotation?.startsWith(LOCALHOST_PREFIX)) {
    return { type: 'Localhost', localhostProfile: annotation.slice(LOCALHOST_PREFIX.length) };
  }
  return annotation === undefined ? spec.securityContext?.appArmorProfile : undefined;
}

function containers(spec: Pod['spec']): readonly AnyContainer[] {
  return [...(spec.initContainers ?? []), ...spec.containers, ...(spec.ephemeralContainers ?? [])];
}
