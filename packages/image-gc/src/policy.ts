import { ImageGcError } from './errors.ts';

/** Policy of the image garbage collection. */
export interface ImageGcPolicy {
  /** Usage of the image file system, in percent, from which images are removed. Default: 85. */
  readonly highThresholdPercent: number;
  /** Usage, in percent, down to which images are removed. Default: 80. */
  readonly lowThresholdPercent: number;
  /** Time after an image's detection from which on the image may be removed to free space, in ms. Default: 2 min. */
  readonly minAgeMs: number;
  /** Time after which an unused image is removed regardless of disk usage, in ms; 0 means never. Default: 0. */
  readonly maxAgeMs: number;
}

export const defaultPolicy: ImageGcPolicy = {
  highThresholdPercent: 85,
  lowThresholdPercent: 80,
  minAgeMs: 120_000,
  maxAgeMs: 0,
};

/** Reports whether the periodic collection can remove any images. If it cannot, upstream does not run it. */
export function collectsAnything({ highThresholdPercent, maxAgeMs }: ImageGcPolicy): boolean {
  return highThresholdPercent < 100 || maxAgeMs > 0;
}

/** Checks that the values of a policy are valid and fit each other. @throws ImageGcError `InvalidOptions` */
export function checkPolicy(policy: ImageGcPolicy): void {
  const { highThresholdPercent: high, lowThresholdPercent: low, minAgeMs, maxAgeMs } = policy;
  for (const [name, value] of Object.entries({ highThresholdPercent: high, lowThresholdPercent: low })) {
    if (!(Number.isInteger(value) && value >= 0 && value <= 100))
      invalid(name, value, 'must be a whole number from 0 to 100');
  }
  if (low > high) invalid('lowThresholdPercent', low, `must not be higher than highThresholdPercent ${high}`);
  for (const [name, value] of Object.entries({ minAgeMs, maxAgeMs })) {
    if (!(value >= 0)) invalid(name, value, 'must not be negative');
  }
  if (maxAgeMs > 0 && maxAgeMs <= minAgeMs) invalid('maxAgeMs', maxAgeMs, `must be greater than minAgeMs ${minAgeMs}`);
}

function invalid(field: string, value: number, why: string): never {
  throw new ImageGcError('InvalidOptions', `${field} ${value} ${why}`);
}
