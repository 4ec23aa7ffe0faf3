import type { ImageReference } from '@node-agent/pod-spec';

/**
 * Returns the name to request from the runtime: the given name, with the tag `latest` if it has neither a tag nor a
 * digest.
 */
export function withTag(requested: string, reference: ImageReference): string {
  return reference.tag === undefined && reference.digest === undefined ? `${requested}:latest` : requested;
}

const MEBIBYTE = 1024 ** 2;
const GIBIBYTE = 1024 ** 3;

/** Lower bounds in bytes, with the label for larger sizes (`pkg/kubelet/metrics/metrics.go`). */
const SIZE_BUCKETS: readonly (readonly [number, string])[] = [
  [100 * GIBIBYTE, 'GT100GB'],
  [60 * GIBIBYTE, '60GB-100GB'],
  [40 * GIBIBYTE, '40GB-60GB'],
  [30 * GIBIBYTE, '30GB-40GB'],
  [20 * GIBIBYTE, '20GB-30GB'],
  [10 * GIBIBYTE, '10GB-20GB'],
  [5 * GIBIBYTE, '5GB-10GB'],
  [GIBIBYTE, '1GB-5GB'],
  [500 * MEBIBYTE, '500MB-1GB'],
  [100 * MEBIBYTE, '100MB-500MB'],
  [10 * MEBIBYTE, '10MB-100MB'],
  [0, '0-10MB'],
];

/**
 * Returns the label of `kubelet_image_pull_duration_seconds` for an image of this size; `N/A` if the size is not known.
 */
export function sizeBucket(bytes: number): string {
  return SIZE_BUCKETS.find(([above]) => bytes > above)?.[1] ?? 'N/A';
}
