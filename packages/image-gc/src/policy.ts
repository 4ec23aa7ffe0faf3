import { ImageGcError } from './errors.ts';

/** When images go, and which. */
export interface ImageGcPolicy {
  /** Disk usage, in percent of the file system of images, from which images are removed; 85 by default. */
  readonly highThresholdPercent: number;
  /** Disk usage, in percent, down to which they are removed; 80 by default. */
  readonly lowThresholdPercent: number;
  /** How long ago an image must have been seen first to be removed for its space, in ms; 2 min by default. */
  readonly minAgeMs: number;
  /** How long an image may be unused, in ms, whatever the disk usage is; 0, the default, is for ever. */
  readonly maxAgeMs: number;
}

export const defaultPolicy: ImageGcPolicy = {
  highThresholdPercent: 85,
  lowThresholdPercent: 80,
  minAgeMs: 120_000,
  maxAgeMs: 0,
};

/** Whether a policy ever removes an image by itself; upstream runs no collection otherwise. */
export function collectsAnything({ highThresholdPercent, maxAgeMs }: ImageGcPolicy): boolean {
  return highThresholdPercent < 100 || maxAgeMs > 0;
}

/** @throws ImageGcError `InvalidOptions` */
export function checkPolicy(policy: ImageGcPolicy): void {
  const { highThresholdPercent: high, lowThresholdPercent: low, minAgeMs, maxAgeMs } = policy;
  for (const [name, value] of Object.entries({ highThresholdPercent: high, lowThresholdPercent: low })) {
    if (!(Number.isInteger(value) && value >= 0 && value <= 100))
      invalid(name, value, 'must be a whole number from 0 to 100');
  }
  if (low > high) invalid('lowThresholdPercent', low, `cannot be higher than highThresholdPercent ${high}`);
  for (const [name, value] of Object.entries({ minAgeMs, maxAgeMs })) {
    if (!(value >= 0)) invalid(name, value, 'must not be negative');
  }
  if (maxAgeMs > 0 && maxAgeMs <= minAgeMs) invalid('maxAgeMs', maxAgeMs, `must be greater than minAgeMs ${minAgeMs}`);
}

function invalid(field: string, value: number, why: string): never {
  throw new ImageGcError('InvalidOptions', `${field} ${value} ${why}`);
}
