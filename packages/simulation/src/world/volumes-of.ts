import { ROOT_DIRECTORY } from './world.ts';

/** Returns the volumes of a pod that exist on disk. */
export function volumesOf(podUid: string, paths: readonly string[]): readonly string[] {
  const beginning = `${ROOT_DIRECTORY}/pods/${podUid}/volumes/`;
  return paths.filter((path) => path.startsWith(beginning) && path.slice(beginning.length).split('/').length === 2);
}
