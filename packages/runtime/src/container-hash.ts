import type { Container } from '@node-agent/pod-spec';

const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;

/**
 * The hash of what makes a running container obsolete when it changes in the spec: its name and image. Lower-case
 * hex without leading zeros, and the very value that the upstream kubelet computes (`HashContainer` in
 * `pkg/kubelet/container/helpers.go`), so that containers which that kubelet left running are kept.
 */
export function containerHash(container: Pick<Container, 'name' | 'image'>): string {
  const json = `{"image":${goJsonString(container.image ?? '')},"name":${goJsonString(container.name)}}`;
  // Upstream hashes not these bytes but what its dump library prints of them: a list of decimal numbers.
  return fnv1a32(`([]uint8)[${Buffer.from(json).join(' ')}]`).toString(16);
}

/** A JSON string as Go writes it: `<`, `>`, `&` and the two line separators are escaped too. */
function goJsonString(text: string): string {
  return JSON.stringify(text).replace(
    /[<>&\u2028\u2029]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

function fnv1a32(text: string): number {
  let hash = FNV_OFFSET;
  for (const byte of Buffer.from(text)) hash = Math.imul(hash ^ byte, FNV_PRIME) >>> 0;
  return hash;
}
