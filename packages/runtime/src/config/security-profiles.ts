import { join } from 'node:path';
import { type Init, type SecurityProfile, SecurityProfileProfileType } from '@node-agent/cri-client';
import { appArmorProfileOf, type Container, type Pod } from '@node-agent/pod-spec';
import { PodRuntimeError } from '../errors.ts';
import type { NodeSettings } from './context.ts';

const runtimeDefault: Init<SecurityProfile> = { profileType: SecurityProfileProfileType.RuntimeDefault };
const unconfined: Init<SecurityProfile> = { profileType: SecurityProfileProfileType.Unconfined };

/**
 * Returns the seccomp profile of a container: its own, else the pod's, else, depending on `seccompDefault`, the
 * runtime's default or unconfined.
 * @throws PodRuntimeError `InvalidSpec` for a `Localhost` profile without a name
 */
export function seccompProfile(pod: Pod, container: Container, node: NodeSettings): Init<SecurityProfile> {
  const profile = container.securityContext?.seccompProfile ?? pod.spec.securityContext?.seccompProfile;
  switch (profile?.type) {
    case undefined:
      return node.seccompDefault ? runtimeDefault : unconfined;
    case 'RuntimeDefault':
      return runtimeDefault;
    case 'Localhost':
      if (!profile?.localhostProfile) {
        throw new PodRuntimeError('InvalidSpec', 'localhostProfile must be set if seccompProfile type is Localhost.');
      }
      return {
        profileType: SecurityProfileProfileType.Localhost,
        localhostRef: join(node.seccompProfileRoot, profile.localhostProfile),
      };
    default:
      return unconfined;
  }
}

/** An AppArmor profile in the current CRI field and in the deprecated field that older runtimes read. */
export interface AppArmor {
  readonly apparmor: Init<SecurityProfile> | null;
  readonly apparmorProfile: string;
}

/**
 * Returns the AppArmor profile of a container.
 * @throws PodRuntimeError `InvalidSpec` for an unknown type, or a `Localhost` profile without a name
 */
export function appArmorProfile(pod: Pod, container: Container): AppArmor {
  const profile = appArmorProfileOf(pod, container);
  if (!profile) return { apparmor: null, apparmorProfile: '' };
  switch (profile.type) {
    case 'RuntimeDefault':
      return { apparmor: runtimeDefault, apparmorProfile: 'runtime/default' };
    case 'Unconfined':
      return { apparmor: unconfined, apparmorProfile: 'unconfined' };
    case 'Localhost': {
      const localhostRef = profile.localhostProfile;
      if (localhostRef == null) {
        throw new PodRuntimeError('InvalidSpec', 'missing localhost apparmor profile name');
      }
      return {
        apparmor: { profileType: SecurityProfileProfileType.Localhost, localhostRef },
        apparmorProfile: `localhost/${localhostRef}`,
      };
    }
    default:
      throw new PodRuntimeError('InvalidSpec', `unknown apparmor profile type: ${JSON.stringify(profile.type)}`);
  }
}
