import type { Container } from '@node-agent/pod-spec';

/** What to do about an image. */
export type PullDecision = 'use' | 'pull' | 'refuse';

/**
 * The pull policy's rule.
 * @param present whether the runtime has the image; not looked at for `Always`
 * @param mustVerify whether this pod has yet to show that it may use an image that is present (KEP-2535)
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
