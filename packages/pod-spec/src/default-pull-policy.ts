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
    // An invalid reference gets `IfNotPresent`, because the validation and the pull report the error.
    return 'IfNotPresent';
  }
  return effectiveTag(reference) === 'latest' ? 'Always' : 'IfNotPresent';
}
