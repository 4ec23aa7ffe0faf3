import { type FileSystem, isMissing } from '@node-agent/host';
import { OBJECT_FILES } from '../scenario/manifest.ts';
import type { ObjectPlan } from '../scenario/plans.ts';
import { ROOT_DIRECTORY } from './world.ts';

const VOLUME = new RegExp(`^${ROOT_DIRECTORY}/pods/([^/]+)/volumes/kubernetes\\.io~(secret|configmap)/([a-z][0-9])$`);

/** A volume of a pod that is filled from an object of the API, as a container sees it. */
export interface MountedObject {
  readonly podUid: string;
  readonly object: ObjectPlan;
  /** What each file of `OBJECT_FILES` says; `undefined` where it is not there. */
  readonly contents: readonly (string | undefined)[];
}

/** All volumes that are filled from secrets and config maps; those that a fault hides are left out. */
export async function mountedObjects(
  fs: Pick<FileSystem, 'readFile'>,
  paths: readonly string[],
): Promise<readonly MountedObject[]> {
  const mounted: MountedObject[] = [];
  for (const path of paths) {
    const [, podUid, plugin, name] = VOLUME.exec(path) ?? [];
    if (podUid === undefined || name === undefined) continue;
    try {
      const contents: (string | undefined)[] = [];
      for (const file of OBJECT_FILES) contents.push(await textOf(fs, `${path}/${file}`));
      mounted.push({ podUid, object: { kind: plugin === 'secret' ? 'secret' : 'configMap', name }, contents });
    } catch {
      // The disk is out of order just now.
    }
  }
  return mounted;
}

async function textOf(fs: Pick<FileSystem, 'readFile'>, path: string): Promise<string | undefined> {
  try {
    return Buffer.from(await fs.readFile(path)).toString();
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}
