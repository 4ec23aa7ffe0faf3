import { effectiveTag, type ImageReference, parseImageReference } from './image-reference.ts';

/**
 * Returns `Always` for a reference with the effective tag `latest`, and `IfNotPresent` for any other, including an
 * invalid one.
 */
export function defaultPullPolicy(image: string | undefined): 'Always' | 'IfNotPresent' {
  let reference: ImageReference;
  try {
    reference = parseImageReference(image ?? '');
  } catch {
    // An invalid reference is reported by the validation and by the pull.
    return 'IfNotPresent';
  }
  return effectiveTag(reference) === 'latest' ? 'Always' : 'IfNotPresent';
}
