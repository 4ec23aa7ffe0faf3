import { type FileSystem, isMissing } from '@node-agent/host';
import { CgroupError } from './errors.ts';

/** Where cgroup v1 has its controllers: many mounts, some with several controllers. */
export interface CgroupV1Hierarchy {
  readonly version: 1;
  /** The mount of each controller; that of systemd's own hierarchy is `systemd`, that of v2 on a hybrid machine `unified`. */
  readonly mounts: ReadonlyMap<string, string>;
}

/** Cgroup v2: one tree. */
export interface CgroupV2Hierarchy {
  readonly version: 2;
  readonly mount: string;
  /** The controllers that its root has. */
  readonly controllers: ReadonlySet<string>;
}

export type CgroupHierarchy = CgroupV1Hierarchy | CgroupV2Hierarchy;

const ROOT = '/sys/fs/cgroup';
/** On a hybrid machine v2 is here: runtimes put containers there, too, and it has no controllers. */
const HYBRID = `${ROOT}/unified`;
/** The v1 controllers in which groups are made; others, of which nothing is known here, are left alone. */
const V1_CONTROLLERS: ReadonlySet<string> = new Set([
  ...['cpuset', 'devices', 'memory', 'cpu', 'cpuacct', 'pids', 'blkio', 'hugetlb'],
  ...['perf_event', 'net_cls', 'net_prio', 'freezer', 'rdma', 'systemd'],
]);

/**
 * Which cgroups this machine has. A hybrid machine, with v2 below `/sys/fs/cgroup/unified`, counts as v1, as for every runtime.
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

/** Where there is no such file, there is no `/proc`, and nothing that tells of a mount. */
async function readMountinfo(fs: Pick<FileSystem, 'readFile'>): Promise<string> {
  try {
    return await readText(fs, '/proc/self/mountinfo');
  } catch (err) {
    if (!isMissing(err)) throw CgroupError.from(err);
    throw new CgroupError('NoHierarchy', 'cannot tell where cgroups are mounted: no /proc/self/mountinfo', err);
  }
}

/** The mount of each v1 controller, from the text of `/proc/self/mountinfo`: the shortest path where there are several. */
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

/** Spaces and their like are written as `\040`. */
function unescapeOctal(text: string): string {
  return text.replaceAll(/\\([0-7]{3})/g, (_all, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)));
}

export async function readText(fs: Pick<FileSystem, 'readFile'>, path: string): Promise<string> {
  return new TextDecoder().decode(await fs.readFile(path));
}

/** What a file has between its spaces and line ends. */
export async function readWords(fs: Pick<FileSystem, 'readFile'>, path: string): Promise<readonly string[]> {
  return (await readText(fs, path)).split(/\s+/).filter((word) => word !== '');
}
