import { parseImageReference } from '@node-agent/pod-spec';

/** Images on the node for which a pod must prove that it may use them (KEP-2535). */
export type VerificationPolicy =
  | 'NeverVerify'
  /** All images that this kubelet or an earlier one has pulled. */
  | 'NeverVerifyPreloadedImages'
  /** All images except those of an allowlist, whoever pulled them. */
  | 'NeverVerifyAllowlistedImages'
  | 'AlwaysVerify';

/**
 * Returns whether a pod must prove that it may use an image (`image_pull_policies.go` of
 * `pkg/kubelet/images/pullmanager`).
 * @param image name as in the container
 * @param pulledByKubelet whether a record of a pull or of a started pull exists
 * @param allowlist for `NeverVerifyAllowlistedImages`: names without tag and digest, or prefixes that end in `/*`
 */
export function requiresVerification(
  policy: VerificationPolicy,
  allowlist: readonly string[],
  image: string,
  pulledByKubelet: boolean,
): boolean {
  if (policy === 'NeverVerify') return false;
  if (policy === 'AlwaysVerify') return true;
  if (policy === 'NeverVerifyPreloadedImages') return pulledByKubelet;
  const name = untaggedName(image) ?? image;
  return !allowlist.some((entry) => (entry.endsWith('/*') ? name.startsWith(entry.slice(0, -1)) : name === entry));
}

/** Returns the image's name as in the container, without tag and digest; `undefined` if the name is not valid. */
export function untaggedName(image: string): string | undefined {
  try {
    const { tag, digest } = parseImageReference(image);
    const end = `${tag === undefined ? '' : `:${tag}`}${digest === undefined ? '' : `@${digest}`}`;
    return image.slice(0, image.length - end.length);
  } catch {
    return undefined;
  }
}
