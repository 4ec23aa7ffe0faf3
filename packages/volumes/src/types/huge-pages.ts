import { type Pod, parseQuantity, type Quantity } from '@node-agent/pod-spec';
import { VolumeError } from '../errors.ts';

const MEDIUM = 'HugePages';
const MEDIUM_PREFIX = 'HugePages-';
const RESOURCE_PREFIX = 'hugepages-';

/** Returns whether a medium is huge pages: `HugePages`, or with a page size such as `HugePages-2Mi`. */
export function isHugePageMedium(medium: string): boolean {
  return medium === MEDIUM || medium.startsWith(MEDIUM_PREFIX);
}

/**
 * Returns the page size of a huge page volume. A medium without a size uses the only page size that the pod requests; a
 * medium with a size is valid if the pod requests pages of that size (`getPageSizeMountOption` of
 * `pkg/volume/emptydir`).
 * @throws VolumeError `InvalidSource`
 */
export function hugePageSize(medium: string, pod: Pod): string {
  const wanted = medium === MEDIUM ? undefined : sizeOf(medium, medium.slice(MEDIUM_PREFIX.length));
  const { containers, initContainers = [], resources } = pod.spec;
  const requests = [resources, ...[...containers, ...initContainers].map((container) => container.resources)];
  let found: Quantity | undefined;
  for (const name of requests.flatMap((each) => Object.keys(each?.requests ?? {}))) {
    if (!name.startsWith(RESOURCE_PREFIX)) continue;
    const size = sizeOf(name, name.slice(RESOURCE_PREFIX.length));
    if (wanted !== undefined && size.value() !== wanted.value()) continue;
    if (found !== undefined && found.value() !== size.value()) {
      const message = `medium: ${medium} can't be used if container requests multiple huge page sizes`;
      throw new VolumeError('InvalidSource', message);
    }
    found = size;
  }
  if (found !== undefined) return found.toString();
  const message = `medium ${medium}: hugePages storage requested, but there is no resource request for huge pages`;
  throw new VolumeError('InvalidSource', message);
}

function sizeOf(name: string, size: string): Quantity {
  try {
    return parseQuantity(size);
  } catch (cause) {
    throw new VolumeError('InvalidSource', `${name}: ${JSON.stringify(size)} must be a huge page size`, cause);
  }
}
