import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** The files of a group that say what it is held to, by their names. */
export type GroupFiles = Readonly<Record<string, string>>;
/** By the group's path, whose parts are names that both sides have; on cgroup v1 with its controller before it. */
export type Groups = ReadonlyMap<string, GroupFiles>;

/** What happened in a group, and not what it is held to. */
const HAPPENED =
  /stat|usage|current|peak|events|pressure|procs|threads|tasks|failcnt|numa|effective|slabinfo|io_|throttle|memory_spread|clone_children|_time_recursive|\.(service|wait|merged|queued|sectors|time)|cgroup\.(kill|freeze)|reclaim|event_control|force_empty|pressure_level|cpuacct/;

/**
 * Reads the groups below one, and itself, with the files that say what they are held to.
 * @param mounts where it is looked: by the controller's name on v1, by '' on v2
 * @param names what UIDs and ids in paths are called
 */
export async function readGroups(
  mounts: ReadonlyMap<string, string>,
  root: string,
  names: ReadonlyMap<string, string>,
): Promise<Groups> {
  const groups = new Map<string, GroupFiles>();
  const read = async (controller: string, directory: string, path: string): Promise<void> => {
    const entries = await readdir(directory, { withFileTypes: true }).catch(() => []);
    if (entries.length === 0) return;
    const files: Record<string, string> = {};
    for (const entry of entries) {
      if (entry.isDirectory())
        await read(controller, join(directory, entry.name), `${path}/${nameOf(entry.name, names)}`);
      else if (!HAPPENED.test(entry.name)) {
        const text = await readFile(join(directory, entry.name), 'utf8').catch(() => undefined);
        if (text !== undefined) files[entry.name] = text.trim();
      }
    }
    groups.set(`${controller}${controller && ':'}${path || '/'}`, files);
  };
  for (const [controller, mount] of mounts) await read(controller, join(mount, root), '');
  return groups;
}

/** A part of a path with the names that both sides have. What is no container that the kubelet tells is the pod's sandbox. */
export function nameOf(part: string, names: ReadonlyMap<string, string>): string {
  let result = part;
  for (const [id, name] of names) {
    if (id === '') continue;
    result = result.replaceAll(id, name).replaceAll(id.replaceAll('-', '_'), name);
  }
  return result.replaceAll(/[0-9a-f]{64}/g, '<sandbox>');
}
