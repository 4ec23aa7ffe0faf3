import { type Container, goJson } from '@node-agent/pod-spec';

const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;
/** Dump of each byte value as a list element that is not the first: a space and the decimal number. */
const AS_NEXT: readonly (readonly number[])[] = Array.from({ length: 256 }, (_, byte) => [...Buffer.from(` ${byte}`)]);
/** Hash of the dump's start: list type, bracket and first element, which is always 123, the code of `{`. */
const DUMP_BEGIN = fnv1a32(FNV_OFFSET, [...Buffer.from('([]uint8)[123')]);
const DUMP_END = [...Buffer.from(']')];

/**
 * Returns the hash of a container's name and image, whose change requires a restart. Lower-case hex without leading
 * zeros, equal to upstream's value (`HashContainer` in `pkg/kubelet/container/helpers.go`), so that containers started
 * by the Go kubelet are kept.
 */
export function containerHash(container: Pick<Container, 'name' | 'image'>): string {
  const json = `{"image":${goJson(container.image ?? '')},"name":${goJson(container.name)}}`;
  // Upstream hashes a dump of the JSON text, as its dump library prints a byte list, not the bytes themselves:
  // `([]uint8)[123 34 …]`.
  let hash = DUMP_BEGIN;
  const bytes = Buffer.from(json.slice(1));
  for (let at = 0; at < bytes.length; at++) hash = fnv1a32(hash, AS_NEXT[bytes[at] ?? 0] ?? []);
  return (fnv1a32(hash, DUMP_END) >>> 0).toString(16);
}

/** Returns the FNV-1a hash of all bytes hashed so far (`hash`) followed by `bytes`, as a signed 32-bit number. */
function fnv1a32(hash: number, bytes: readonly number[]): number {
  let next = hash;
  // An index is used, because an iterator is several times slower until V8's optimizing compilers have run.
  for (let at = 0; at < bytes.length; at++) next = Math.imul(next ^ (bytes[at] ?? 0), FNV_PRIME);
  return next;
}
