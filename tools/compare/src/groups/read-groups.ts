import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Contents of a cgroup's configuration files, by file name. */
export type GroupFiles = Readonly<Record<string, string>>;
/**
 * Configuration files by cgroup path. Paths contain names that are equal on both sides instead of UIDs and IDs; on
 * cgroup v1 the controller is a prefix.
 */
export type Groups = ReadonlyMap<string, GroupFiles>;

/**
 * Files that report state, statistics or events, or that trigger an action. Files with state or statistics are not
 * compared.
 */
const HAPPENED =
  /stat|usage|current|peak|events|pressure|procs|threads|tasks|failcnt|numa|effective|slabinfo|io_|throttle|memory_spread|clone_children|_time_recursive|\.(service|wait|merged|queued|sectors|time)|cgroup\.(kill|freeze)|reclaim|event_control|force_empty|pressure_level|cpuacct/;

/**
 * Reads the configuration files of a cgroup and its descendants.
 * @param mounts mount points of the hierarchies: by controller name on cgroup v1, by '' on cgroup v2
 * @param names for each UID and ID in a path, the name that replaces it on both sides
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

/**
 * Replaces UIDs and IDs in a part of a path by names that are equal on both sides. An ID that belongs to no reported
 * container is the ID of the pod's sandbox.
 */
export function nameOf(part: string, names: ReadonlyMap<string, string>): string {
  let result = part;
  for (const [id, name] of names) {
    if (id === '') continue;
    result = result.replaceAll(id, name).replaceAll(id.replaceAll('-', '_'), name);
  }
  return result.replaceAll(/[0-9a-f]{64}/g, '<sandbox>');
}
