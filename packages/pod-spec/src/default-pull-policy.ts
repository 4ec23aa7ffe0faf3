import { effectiveTag, type ImageReference, parseImageReference } from './image-reference.ts';

/** `Always` for a reference that means `latest`, `IfNotPresent` for any other, an invalid one too. */
export function defaultPullPolicy(image: string | undefined): 'Always' | 'IfNotPresent' {
  let reference: ImageReference;
  try {
    reference = parseImageReference(image ?? '');
  } catch {
    // That the reference is invalid is for validation, and for the pull, to say.
    return 'IfNotPresent';
  }
  return effectiveTag(reference) === 'latest' ? 'Always' : 'IfNotPresent';
}
