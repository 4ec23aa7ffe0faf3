import { KubeError } from './errors.ts';
import { isRecord, parseObjects } from './json.ts';
import type { KubeObject } from './resource.ts';
import { errorOfStatus } from './status.ts';

/**
 * An event of a watch: the change of an object, or a bookmark with the version that the watch has reached.
 * `initialEventsEnd`: all objects that existed when the watch started have been sent (`k8s.io/initial-events-end`).
 */
export type WatchEvent<T> =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: T; readonly resourceVersion: string }
  | { readonly type: 'BOOKMARK'; readonly resourceVersion: string; readonly initialEventsEnd: boolean };

/**
 * Parses one line of a watch. Returns `undefined` for an unknown type of event.
 * @throws KubeError with the content of an `ERROR` event; `InvalidResponse` if the line is not an event
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
        throw new KubeError({ code: 'InvalidResponse', message: `a watch's ${type} has an object without a name` });
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
