import { type FileSystem, isMissing } from '@node-agent/host';
import { CgroupError } from './errors.ts';

/** Mounts of cgroup v1: one per controller, or shared by several controllers. */
export interface CgroupV1Hierarchy {
  readonly version: 1;
  /**
   * Mount of each controller. The entry `systemd` is systemd's own hierarchy; the entry `unified` is cgroup v2 on a
   * hybrid machine.
   */
  readonly mounts: ReadonlyMap<string, string>;
}

/** The single mount of cgroup v2. */
export interface CgroupV2Hierarchy {
  readonly version: 2;
  readonly mount: string;
  /** Controllers of the root cgroup. */
  readonly controllers: ReadonlySet<string>;
}

export type CgroupHierarchy = CgroupV1Hierarchy | CgroupV2Hierarchy;

const ROOT = '/sys/fs/cgroup';
/**
 * Mount of cgroup v2 on a hybrid machine. Runtimes put containers into this hierarchy too, but the hierarchy has no
 * controllers.
 */
const HYBRID = `${ROOT}/unified`;
/** The v1 controllers in which cgroups are created; unknown ones are not touched. */
const V1_CONTROLLERS: ReadonlySet<string> = new Set([
  ...['cpuset', 'devices', 'memory', 'cpu', 'cpuacct', 'pids', 'blkio', 'hugetlb'],
  ...['perf_event', 'net_cls', 'net_prio', 'freezer', 'rdma', 'systemd'],
]);

/**
 * Detects the cgroup version of this machine. A hybrid machine, with cgroup v2 below `/sys/fs/cgroup/unified`, counts
 * as v1, as it does for all runtimes.
 * @throws CgroupError `NoHierarchy`, `Io`
 */
export async function readHierarchy(fs: Pick<FileSystem, 'readFile'>): Promise<CgroupHierarchy> {
  try {
    const controllers = await readWords(fs, `${ROOT}/cgroup.controllers`);
    return { version: 2, mount: ROOT, controllers: new Set(controllers) };
  } catch (err) {
    if (!isMissing(err)) throw CgroupError.from(err);
  }
  const mounts = v1Mounts(await readMountinfo(fs));
  if (![...mounts.keys()].some((name) => name !== 'unified'))
    throw new CgroupError('NoHierarchy', `failed to find cgroup mounts below ${ROOT}`);
  return { version: 1, mounts };
}

/**
 * Reads `/proc/self/mountinfo`. If the file is missing, `/proc` is not mounted, and the cgroup mounts cannot be
 * determined.
 */
async function readMountinfo(fs: Pick<FileSystem, 'readFile'>): Promise<string> {
  try {
    return await readText(fs, '/proc/self/mountinfo');
  } catch (err) {
    if (!isMissing(err)) throw CgroupError.from(err);
    throw new CgroupError('NoHierarchy', 'cannot determine cgroup mounts: no /proc/self/mountinfo', err);
  }
}

/**
 * Returns the mount of each v1 controller from the text of `/proc/self/mountinfo`; the shortest path if there are
 * several.
 */
function v1Mounts(mountinfo: string): ReadonlyMap<string, string> {
  const mounts = new Map<string, string>();
  for (const line of mountinfo.split('\n')) {
    const [before = '', after] = line.split(' - ');
    const [type, , options = ''] = after?.split(' ') ?? [];
    const mountPoint = before.split(' ')[4];
    if (mountPoint === undefined) continue;
    const path = unescapeOctal(mountPoint);
    if (type === 'cgroup2' && path === HYBRID) mounts.set('unified', path);
    if (type !== 'cgroup') continue;
    for (const option of options.split(',')) {
      const controller = option.startsWith('name=') ? option.slice('name='.length) : option;
      const known = mounts.get(controller);
      if (V1_CONTROLLERS.has(controller) && (known === undefined || path.length < known.length)) {
        mounts.set(controller, path);
      }
    }
  }
  return mounts;
}

/** Decodes octal escapes such as `\040` for a space. */
function unescapeOctal(text: string): string {
  return text.replaceAll(/\\([0-7]{3})/g, (_all, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)));
}

export async function readText(fs: Pick<FileSystem, 'readFile'>, path: string): Promise<string> {
  return new TextDecoder().decode(await fs.readFile(path));
}

/** Reads a file and splits it at white space. */
export async function readWords(fs: Pick<FileSystem, 'readFile'>, path: string): Promise<readonly string[]> {
  return (await readText(fs, path)).split(/\s+/).filter((word) => word !== '');
}
