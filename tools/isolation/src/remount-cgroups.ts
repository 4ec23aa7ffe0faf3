import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { run } from './run.ts';

/** Mounted cgroup file system. */
interface CgroupMount {
  readonly type: string;
  readonly options: string;
  readonly target: string;
}

/** Returns the cgroup file systems in `/proc/self/mountinfo`. */
export function cgroupMounts(mountinfo: string): readonly CgroupMount[] {
  return mountinfo.split('\n').flatMap((line) => {
    const [before = '', after = ''] = line.split(' - ');
    const [type = '', , options = ''] = after.split(' ');
    const target = before.split(' ')[4];
    if (target === undefined || (type !== 'cgroup' && type !== 'cgroup2')) return [];
    return [{ type, options: options.replace(/^r[wo],?/, ''), target }];
  });
}

/**
 * Mounts the cgroup file systems again in new mount and cgroup namespaces, so that only the cgroups of the namespace are
 * visible.
 */
export async function remountCgroups(): Promise<void> {
  for (const { type, options, target } of cgroupMounts(await readFile('/proc/self/mountinfo', 'utf8'))) {
    await run('umount', [target]);
    await run('mount', ['-t', type, ...(options === '' ? [] : ['-o', options]), 'cgroup', target]);
    // cgroup v2 enables no controllers for the children of a cgroup that contains processes itself.
    if (type !== 'cgroup2' || target !== '/sys/fs/cgroup') continue;
    await mkdir(`${target}/init`);
    for (const pid of (await readFile(`${target}/cgroup.procs`, 'utf8')).split('\n')) {
      if (pid !== '' && pid !== '0') await writeFile(`${target}/init/cgroup.procs`, pid);
    }
  }
}
