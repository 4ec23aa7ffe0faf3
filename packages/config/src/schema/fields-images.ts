import { type Field, field } from './field.ts';
import { atLeast, BOOLEAN, DURATION, INT32, inRange, list, notNegative, oneOf, STRING } from './types.ts';

/** Fields of image pulls and image garbage collection. */
export const imageFields: readonly Field[] = [
  field({
    name: 'registryPullQPS',
    reload: 'live',
    type: INT32,
    default: 5,
    flag: 'registry-qps',
    check: notNegative,
    doc: 'Image pulls per second, on average. 0: no limit.',
  }),
  field({
    name: 'registryBurst',
    reload: 'live',
    type: INT32,
    default: 10,
    zeroIsUnset: true,
    flag: 'registry-burst',
    check: notNegative,
    doc: 'Image pulls that may exceed registryPullQPS in a burst.',
  }),
  field({
    name: 'serializeImagePulls',
    type: BOOLEAN,
    default: true,
    flag: 'serialize-image-pulls',
    doc: 'Whether images are pulled one at a time. If maxParallelImagePulls is 2 or more, the default is false.',
  }),
  field({
    name: 'maxParallelImagePulls',
    type: INT32,
    optional: true,
    check: atLeast(1),
    doc: 'Maximum number of parallel image pulls; above 1 only if serializeImagePulls is false. Unset: no limit.',
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
    doc: 'Which images that are already on the node need pull credentials from each pod. Needs the feature gate KubeletEnsureSecretPulledImages, with a default of NeverVerifyPreloadedImages.',
  }),
  field({
    name: 'preloadedImagesVerificationAllowlist',
    type: list(STRING),
    default: [],
    doc: 'Images (without tag or digest), or prefixes that end in `/*`, that need no verification under NeverVerifyAllowlistedImages.',
  }),
  field({
    name: 'imageMinimumGCAge',
    reload: 'live',
    type: DURATION,
    default: '2m0s',
    zeroIsUnset: true,
    flag: 'minimum-image-ttl-duration',
    check: notNegativeDuration,
    doc: 'Minimum age of an image, since it was first seen, before it may be removed to free space.',
  }),
  field({
    name: 'imageMaximumGCAge',
    reload: 'live',
    type: DURATION,
    default: '0s',
    check: notNegativeDuration,
    doc: 'Longest time that an unused image is kept; longer than imageMinimumGCAge. 0s: no limit.',
  }),
  field({
    name: 'imageGCHighThresholdPercent',
    reload: 'live',
    type: INT32,
    default: 85,
    flag: 'image-gc-high-threshold',
    check: inRange(0, 100),
    doc: 'Disk usage in percent that starts image garbage collection; above imageGCLowThresholdPercent. 100: no collection for space, unless the disk is almost full and imageMaximumGCAge is set.',
  }),
  field({
    name: 'imageGCLowThresholdPercent',
    reload: 'live',
    type: INT32,
    default: 80,
    flag: 'image-gc-low-threshold',
    check: inRange(0, 100),
    doc: 'Disk usage in percent at which image garbage collection stops.',
  }),
];

function notNegativeDuration(value: unknown): string | undefined {
  return typeof value === 'number' && value >= 0 ? undefined : 'must not be negative';
}
