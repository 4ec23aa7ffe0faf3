import { type Field, field } from './field.ts';
import { atLeast, BOOLEAN, DURATION, INT32, inRange, list, notNegative, oneOf, STRING } from './types.ts';

/** Pulling images, and removing them again. */
export const imageFields: readonly Field[] = [
  field({
    name: 'registryPullQPS',
    type: INT32,
    default: 5,
    flag: 'registry-qps',
    check: notNegative,
    doc: 'How many pulls start per second in the long run. 0: no limit.',
  }),
  field({
    name: 'registryBurst',
    type: INT32,
    default: 10,
    zeroIsUnset: true,
    flag: 'registry-burst',
    check: notNegative,
    doc: 'How many pulls may start at once above registryPullQPS.',
  }),
  field({
    name: 'serializeImagePulls',
    type: BOOLEAN,
    default: true,
    flag: 'serialize-image-pulls',
    doc: 'Whether images are pulled one at a time. Default true, or false where maxParallelImagePulls is 2 or more.',
  }),
  field({
    name: 'maxParallelImagePulls',
    type: INT32,
    optional: true,
    check: atLeast(1),
    doc: 'How many images are pulled at a time; above 1 only where serializeImagePulls is false. Unset: no limit.',
  }),
  field({
    name: 'imagePullCredentialsVerificationPolicy',
    type: oneOf(
      'ImagePullCredentialsVerificationPolicy',
      'NeverVerify',
      'NeverVerifyPreloadedImages',
      'NeverVerifyAllowlistedImages',
      'AlwaysVerify',
    ),
    optional: true,
    doc: 'For which images that are on the node already a pod has to show that it may pull them. Default NeverVerifyPreloadedImages where the feature gate KubeletEnsureSecretPulledImages is on; not allowed where it is off.',
  }),
  field({
    name: 'preloadedImagesVerificationAllowlist',
    type: list(STRING),
    default: [],
    doc: 'Images without tag or digest, or prefixes that end in `/*`, that need no verification under NeverVerifyAllowlistedImages.',
  }),
  field({
    name: 'imageMinimumGCAge',
    type: DURATION,
    default: '2m0s',
    zeroIsUnset: true,
    flag: 'minimum-image-ttl-duration',
    check: notNegativeDuration,
    doc: 'How long an image stays, from when it was first seen, before it may be removed for its space.',
  }),
  field({
    name: 'imageMaximumGCAge',
    type: DURATION,
    default: '0s',
    check: notNegativeDuration,
    doc: 'How long an image may stay unused; longer than imageMinimumGCAge. 0s: for ever.',
  }),
  field({
    name: 'imageGCHighThresholdPercent',
    type: INT32,
    default: 85,
    flag: 'image-gc-high-threshold',
    check: inRange(0, 100),
    doc: 'The disk usage in percent that starts image collection; above imageGCLowThresholdPercent. 100: never, unless the disk is all but full and imageMaximumGCAge is set.',
  }),
  field({
    name: 'imageGCLowThresholdPercent',
    type: INT32,
    default: 80,
    flag: 'image-gc-low-threshold',
    check: inRange(0, 100),
    doc: 'The disk usage in percent that image collection frees down to.',
  }),
];

function notNegativeDuration(value: unknown): string | undefined {
  return typeof value === 'number' && value >= 0 ? undefined : 'must not be negative';
}
