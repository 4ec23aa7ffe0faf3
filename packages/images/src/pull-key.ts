import type { AuthConfig, Init, PodSandboxConfig, PullImageRequest } from '@node-agent/cri-client';
import { CONFIG_HASH_ANNOTATION, CONFIG_SEEN_ANNOTATION } from '@node-agent/pod-spec';

/** Annotations that the kubelet adds and that differ between all pods. */
const NOTES: readonly string[] = [CONFIG_SEEN_ANNOTATION, CONFIG_HASH_ANNOTATION];

/**
 * Returns a key that is equal for requests that may share a pull, because the runtime's decision depends on the same
 * data. Besides the image and the credentials, the runtime sees the sandbox's metadata. CRI-O has a signature policy
 * per namespace, so one namespace may be allowed to pull an image that another may not. Annotations can affect how an
 * image is pulled. Two pods of the same namespace can share a pull.
 * @param request without the credential
 * @param auths credentials to try, in order
 */
export function pullKey(
  { image, sandboxConfig }: Pick<Init<PullImageRequest>, 'image' | 'sandboxConfig'>,
  auths: readonly Init<AuthConfig>[],
): string {
  return JSON.stringify([
    [image?.image, image?.runtimeHandler, inOrder(image?.annotations)],
    [sandboxConfig?.metadata?.namespace, inOrder(sandboxConfig?.annotations)],
    auths,
  ]);
}

function inOrder(annotations: Init<PodSandboxConfig>['annotations']): readonly unknown[] {
  return Object.entries(annotations ?? {})
    .filter(([name]) => !NOTES.includes(name))
    .sort();
}
