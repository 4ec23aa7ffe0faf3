import { Quantity, qualifiedNameProblem } from '@node-agent/pod-spec';

const HUGE_PAGES = 'hugepages-';

/** The resource for huge pages of a size: `hugepages-2Mi`. */
export function hugePageResource(pageSizeBytes: number): string {
  return `${HUGE_PAGES}${Quantity.of(pageSizeBytes, 'BinarySI').toString()}`;
}

export function isHugePageResource(name: string): boolean {
  return name.startsWith(HUGE_PAGES);
}

/** Whether a resource is none of Kubernetes' own: one of a device plugin, or one that an administrator has made up. */
export function isExtendedResource(name: string): boolean {
  const native = !name.includes('/') || name.includes('kubernetes.io/');
  return !native && !name.startsWith('requests.') && qualifiedNameProblem(`requests.${name}`).length === 0;
}
