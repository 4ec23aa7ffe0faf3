import type { FileSystem } from '@node-agent/host';
import type { ControlStep } from './control-steps.ts';
import { readText } from './hierarchy.ts';
import type { ResourceConfig } from './resource-config.ts';

/** Content of each control file in a new cgroup (first cgroup v2, then v1). */
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

/** cgroup v1 shows "no limit" as the largest number of whole pages. */
const UNLIMITED_BYTES = 2 ** 62;

/** Returns whether a file has the content of a new cgroup: the limit was never set, or was reset. */
export function isDefault(file: string, text: string): boolean {
  const content = text.trim().split(/\s+/).join(' ');
  if (file.endsWith('.limit_in_bytes')) return Number(content) >= UNLIMITED_BYTES;
  if (file.startsWith('hugetlb.')) return content === 'max';
  return DEFAULTS[file] === content;
}

/** Splits a config into configs of limits that are set together. */
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
 * Returns the part of `config` whose files are at the default of a new cgroup. A limit with any other value is left
 * out, because another agent may have set it on purpose.
 * @param stepsOf returns the writes of a config
 * @param directoryOf returns the cgroup's directory in the hierarchy of a controller
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
