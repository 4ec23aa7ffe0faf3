import type { Container } from '@node-agent/pod-spec';

/** Decision about an image. */
export type PullDecision = 'use' | 'pull' | 'refuse';

/**
 * Implements the rule of the pull policy.
 * @param present whether the runtime has the image; ignored for `Always`
 * @param mustVerify whether this pod must still prove that it may use an image that is on the node (KEP-2535)
 */
export function decidePull(
  policy: NonNullable<Container['imagePullPolicy']> | string,
  present: boolean,
  mustVerify: boolean,
): PullDecision {
  if (policy === 'Always') return 'pull';
  if (present && !mustVerify) return 'use';
  return policy === 'Never' ? 'refuse' : 'pull';
}
