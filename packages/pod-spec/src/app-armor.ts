import type { Pod, SecurityContext } from './api.ts';
import { type AnyContainer, allContainers } from './containers.ts';

/** Prefix of the deprecated annotation that names a container's AppArmor profile. */
const ANNOTATION_PREFIX = 'container.apparmor.security.beta.kubernetes.io/';
const UNCONFINED = 'unconfined';
const RUNTIME_DEFAULT = 'runtime/default';
const LOCALHOST_PREFIX = 'localhost/';

/**
 * Returns the AppArmor profile of a container: its own, otherwise the one in the pod's beta annotation (which static
 * pods may still have), otherwise the pod's (`pkg/security/apparmor/helpers.go`).
 */
export function appArmorProfileOf(pod: Pod, container: AnyContainer): SecurityContext['appArmorProfile'] {
  return (
    container.securityContext?.appArmorProfile ??
    annotatedProfile(pod, container) ??
    pod.spec.securityContext?.appArmorProfile
  );
}

/** Returns whether a field or annotation of the pod requests an AppArmor profile for any part of it. */
export function asksForAppArmor(pod: Pod): boolean {
  const contexts = [
    pod.spec.securityContext,
    ...[...allContainers(pod)].map(({ container }) => container.securityContext),
  ];
  if (contexts.some((context) => context?.appArmorProfile && context.appArmorProfile.type !== 'Unconfined'))
    return true;
  return Object.entries(pod.metadata.annotations ?? {}).some(
    ([key, value]) => key.startsWith(ANNOTATION_PREFIX) && value !== UNCONFINED,
  );
}

function annotatedProfile({ metadata }: Pod, { name }: AnyContainer): SecurityContext['appArmorProfile'] {
  const value = metadata.annotations?.[`${ANNOTATION_PREFIX}${name}`];
  if (value === RUNTIME_DEFAULT) return { type: 'RuntimeDefault' };
  if (value === UNCONFINED) return { type: 'Unconfined' };
  if (value?.startsWith(LOCALHOST_PREFIX)) {
    return { type: 'Localhost', localhostProfile: value.slice(LOCALHOST_PREFIX.length) };
  }
  return undefined;
}
