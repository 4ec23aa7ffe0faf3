import type { FileSystem } from '@node-agent/host';
import type { ControlStep } from './control-steps.ts';
import { readText } from './hierarchy.ts';
import type { ResourceConfig } from './resource-config.ts';

/** The content of a new group's files (cgroup v2, then v1). */
const DEFAULTS: Readonly<Record<string, string>> = {
  'memory.max': 'max',
  'memory.high': 'max',
  'memory.swap.max': 'max',
  'memory.min': '0',
  'memory.low': '0',
  'pids.max': 'max',
  'cpu.weight': '100',
  'cpu.max': 'max 100000',
  'cpuset.cpus': '',
  'cpu.shares': '1024',
  'cpu.cfs_quota_us': '-1',
};

/** cgroup v1 writes "no limit" as the greatest number of whole pages. */
const UNLIMITED_BYTES = 2 ** 62;

/** Whether a file of a group has the content that the kernel gives it in a new group: nobody has set it, or a reset took it away. */
export function isDefault(file: string, text: string): boolean {
  const content = text.trim().split(/\s+/).join(' ');
  if (file.endsWith('.limit_in_bytes')) return Number(content) >= UNLIMITED_BYTES;
  if (file.startsWith('hugetlb.')) return content === 'max';
  return DEFAULTS[file] === content;
}

/** The limits that are set together, each as a config of its own. */
export function limitsOf(config: ResourceConfig): readonly ResourceConfig[] {
  const { cpuQuotaUs, cpuPeriodUs, memoryBytes, swapBytes, unified = {}, ...others } = config;
  const single = Object.entries(others).map(([field, value]) => ({ [field]: value }) as ResourceConfig);
  return [
    ...single,
    ...(cpuQuotaUs === undefined ? [] : [{ cpuQuotaUs, ...(cpuPeriodUs !== undefined && { cpuPeriodUs }) }]),
    ...(memoryBytes === undefined ? [] : [{ memoryBytes, ...(swapBytes !== undefined && { swapBytes }) }]),
    ...Object.entries(unified).map(([file, value]) => ({ unified: { [file]: value } })),
  ];
}

/**
 * The part of `config` that a group is not held to, as its files are those of a new group. A limit with any other value stays out: another
 * agent may have set it on purpose.
 * @param stepsOf the files that a config is written into
 * @param directoryOf the group's directory in the hierarchy of a controller
 */
export async function unsetLimits(
  fs: Pick<FileSystem, 'readFile'>,
  config: ResourceConfig,
  stepsOf: (config: ResourceConfig) => readonly ControlStep[],
  directoryOf: (controller: string) => string | undefined,
): Promise<ResourceConfig> {
  let unset: ResourceConfig = {};
  for (const limit of limitsOf(config)) {
    const writes = stepsOf(limit).flat();
    const isUnset = await Promise.all(
      writes.map(async ({ controller, file, value }) => {
        const directory = directoryOf(controller);
        if (directory === undefined || isDefault(file, value)) return false;
        const text = await readText(fs, `${directory}/${file}`).catch(() => undefined);
        return text !== undefined && isDefault(file, text);
      }),
    );
    if (isUnset.includes(true)) unset = { ...unset, ...limit, unified: { ...unset.unified, ...limit.unified } };
  }
  const { unified, ...others } = unset;
  return unified === undefined || Object.keys(unified).length === 0 ? others : unset;
}
