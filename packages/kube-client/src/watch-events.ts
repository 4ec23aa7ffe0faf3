import { KubeError } from './errors.ts';
import { isRecord, parseObjects } from './json.ts';
import type { KubeObject } from './resource.ts';
import { errorOfStatus } from './status.ts';

/**
 * What a watch tells: an object's change, or how far the watch has come. `initialEventsEnd`: all objects that were there
 * when the watch began have been sent (`k8s.io/initial-events-end`).
 */
export type WatchEvent<T> =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: T; readonly resourceVersion: string }
  | { readonly type: 'BOOKMARK'; readonly resourceVersion: string; readonly initialEventsEnd: boolean };

/**
 * The event in one line of a watch. `undefined` for a type of event that is not known.
 * @throws KubeError what an `ERROR` event says; `InvalidResponse` for what is no event
 */
export function parseWatchEvent<T extends KubeObject>(line: string): WatchEvent<T> | undefined {
  const event = parseObjects(line);
  if (!isRecord(event) || typeof event.type !== 'string' || !isRecord(event.object)) {
    throw new KubeError({ code: 'InvalidResponse', message: `not a watch event: ${line.length} characters` });
  }
  const { type, object } = event;
  if (type === 'ERROR') throw errorOfStatus(object);
  const metadata = isRecord(object.metadata) ? object.metadata : {};
  const resourceVersion = typeof metadata.resourceVersion === 'string' ? metadata.resourceVersion : '';
  switch (type) {
    case 'ADDED':
    case 'MODIFIED':
    case 'DELETED':
      if (typeof metadata.name !== 'string') {
        throw new KubeError({ code: 'InvalidResponse', message: `a watch's ${type} has an object with no name` });
      }
      return { type, object: object as unknown as T, resourceVersion };
    case 'BOOKMARK': {
      const annotations = metadata.annotations;
      const initialEventsEnd = isRecord(annotations) && annotations['k8s.io/initial-events-end'] === 'true';
      return { type, resourceVersion, initialEventsEnd };
    }
    default:
      return undefined;
  }
}
