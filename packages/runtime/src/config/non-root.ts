import type { Image } from '@node-agent/cri-client';
import { type Container, formatPod, type Pod } from '@node-agent/pod-spec';
import { PodRuntimeError } from '../errors.ts';
import type { ImageUser } from './context.ts';

const MAX_USER_ID = 2 ** 31 - 1;

/** Returns the user of an image, as the runtime reports it. Default: root. */
export function imageUser(image: Image | null): ImageUser {
  if (image?.uid) return { uid: image.uid.value };
  if (image?.username) return { username: image.username };
  return { uid: 0 };
}

/**
 * Verifies `runAsNonRoot` of a container: by `runAsUser`, else by the image's user, which must be numeric.
 * @throws PodRuntimeError `NonRootViolation`
 */
export function verifyRunAsNonRoot(pod: Pod, container: Container, user: ImageUser): void {
  const own = container.securityContext;
  const pods = pod.spec.securityContext;
  if (!(own?.runAsNonRoot ?? pods?.runAsNonRoot)) return;
  const where = `(pod: ${JSON.stringify(formatPod(pod))}, container: ${container.name})`;
  const runAsUser = own?.runAsUser ?? pods?.runAsUser;
  if (runAsUser != null) {
    if (runAsUser === 0) throw violation(`container's runAsUser breaks non-root policy ${where}`);
  } else if ('username' in user) {
    throw violation(
      `container has runAsNonRoot and image has non-numeric user (${user.username}), ` +
        `cannot verify user is non-root ${where}`,
    );
  } else if (user.uid === 0) {
    throw violation(`container has runAsNonRoot and image will run as root ${where}`);
  } else if (!(user.uid > 0 && user.uid <= MAX_USER_ID)) {
    throw violation(
      `container has runAsNonRoot and image has an invalid user id (${user.uid}). (Must be 1-(${MAX_USER_ID})): ` +
        `must be between 0 and ${MAX_USER_ID}, inclusive ${where}`,
    );
  }
}

function violation(message: string): PodRuntimeError {
  return new PodRuntimeError('NonRootViolation', message);
}
