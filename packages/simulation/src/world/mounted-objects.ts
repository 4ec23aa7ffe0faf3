import { type FileSystem, isMissing } from '@node-agent/host';
import type { MemoryFileSystem } from '@node-agent/host/testing';
import { OBJECT_FILES } from '../scenario/manifest.ts';
import type { ObjectPlan } from '../scenario/plans.ts';
import { ROOT_DIRECTORY } from './world.ts';

/** Directories of a pod's volumes, by kind of object. */
const DIRECTORIES = { secret: 'volumes/kubernetes.io~secret', configMap: 'volumes/kubernetes.io~configmap' } as const;
/** Names of volumes that contain a single object. */
const OBJECT_NAME = /^[a-z][0-9]$/;

/** A volume of a pod that is filled from an API object, as a container sees it. */
export interface MountedObject {
  readonly podUid: string;
  readonly object: ObjectPlan;
  /** Content of each file of `OBJECT_FILES`, or `undefined` if the file does not exist. */
  readonly contents: readonly (string | undefined)[];
}

/** Returns all volumes that are filled from secrets and config maps, except volumes that a fault hides. */
export async function mountedObjects(
  fs: Pick<MemoryFileSystem, 'readFile' | 'names'>,
): Promise<readonly MountedObject[]> {
  const mounted: MountedObject[] = [];
  for (const object of volumesOfObjects(fs)) {
    try {
      const contents: (string | undefined)[] = [];
      for (const file of OBJECT_FILES) contents.push(await textOf(fs, `${object.path}/${file}`));
      mounted.push({ podUid: object.podUid, object: { kind: object.kind, name: object.name }, contents });
    } catch {
      // A volume that cannot be read because of a disk fault is left out.
    }
  }
  return mounted;
}

interface VolumeOfObject extends Pick<ObjectPlan, 'kind' | 'name'> {
  readonly podUid: string;
  readonly path: string;
}

function* volumesOfObjects(fs: Pick<MemoryFileSystem, 'names'>): Generator<VolumeOfObject> {
  const pods = `${ROOT_DIRECTORY}/pods`;
  for (const podUid of fs.names(pods)) {
    for (const kind of ['configMap', 'secret'] as const) {
      const directory = `${pods}/${podUid}/${DIRECTORIES[kind]}`;
      for (const name of fs.names(directory)) {
        if (OBJECT_NAME.test(name)) yield { podUid, kind, name, path: `${directory}/${name}` };
      }
    }
  }
}

async function textOf(fs: Pick<FileSystem, 'readFile'>, path: string): Promise<string | undefined> {
  try {
    return Buffer.from(await fs.readFile(path)).toString();
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}
