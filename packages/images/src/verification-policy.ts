import { parseImageReference } from '@node-agent/pod-spec';

/** For which images that are on the node a pod has to show that it may use them (KEP-2535). */
export type VerificationPolicy =
  | 'NeverVerify'
  /** All that this kubelet, or one before it, has pulled. */
  | 'NeverVerifyPreloadedImages'
  /** All but those of a list, whoever pulled them. */
  | 'NeverVerifyAllowlistedImages'
  | 'AlwaysVerify';

/**
 * Whether a pod has to show that it may use an image (`image_pull_policies.go` of `pkg/kubelet/images/pullmanager`).
 * @param image as the container names it
 * @param pulledByKubelet whether there is a record that it was pulled, or was to be
 * @param allowlist names without tag and digest, or prefixes that end in `/*`, of `NeverVerifyAllowlistedImages`
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

/** An image as the container names it, without tag and digest; `undefined` where it makes no sense. */
export function untaggedName(image: string): string | undefined {
  try {
    const { tag, digest } = parseImageReference(image);
    const end = `${tag === undefined ? '' : `:${tag}`}${digest === undefined ? '' : `@${digest}`}`;
    return image.slice(0, image.length - end.length);
  } catch {
    return undefined;
  }
}
