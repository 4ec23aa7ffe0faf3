import type { AuthConfig, Init, PodSandboxConfig, PullImageRequest } from '@node-agent/cri-client';
import { CONFIG_HASH_ANNOTATION, CONFIG_SEEN_ANNOTATION } from '@node-agent/pod-spec';

/** The node's own notes, which no two pods have in common. */
const NOTES: readonly string[] = [CONFIG_SEEN_ANNOTATION, CONFIG_HASH_ANNOTATION];

/**
 * Who asks for the same may share a pull: whose runtime decides by the same. Beside what is pulled, and with what, a runtime knows for whom:
 * CRI-O has a signature policy for each namespace of a sandbox, and what one namespace may pull another may not; annotations choose how
 * an image is pulled, too. Two pods of a namespace share.
 * @param request without the credential
 * @param auths those that are tried, in their order
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
