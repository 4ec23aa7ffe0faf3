import { compareUtf8 } from './compare-utf8.ts';

/**
 * A Go value as go-spew prints it with `%#v`, sorted keys and without methods. Upstream hashes this text for the
 * checksums of its state files (`pkg/kubelet/checkpointmanager/checksum`, `k8s.io/utils/dump: ForHash`).
 */
export interface GoDump {
  /** Text with the type, as printed for the fields of a structure. */
  readonly typed: string;
  /** Text without the type, as printed for the elements of maps and slices, whose type is already known. */
  readonly bare: string;
}

/** Dumps a string or number. @param type such as `string` or `v1.ResourceName` */
export function goScalar(type: string, value: string | number): GoDump {
  return { typed: `(${type})${value}`, bare: `${value}` };
}

/** Dumps a slice. @param type such as `[]int` @param elements `null` is Go's nil */
export function goSlice(type: string, elements: readonly GoDump[] | null): GoDump {
  const bare = elements === null ? '<nil>' : `[${elements.map((element) => element.bare).join(' ')}]`;
  return { typed: `(${type})${bare}`, bare };
}

/**
 * Dumps a map with string or integer keys, which are sorted as in Go.
 * @param type such as `map[string]string` @param entries `null` is Go's nil
 */
export function goMap(type: string, entries: Iterable<readonly [key: string | number, value: GoDump]> | null): GoDump {
  const pairs = entries === null ? null : [...entries].sort(byKey).map(([key, value]) => `${key}:${value.bare}`);
  const bare = pairs === null ? '<nil>' : `map[${pairs.join(' ')}]`;
  return { typed: `(${type})${bare}`, bare };
}

/** Dumps a structure. @param type such as `state.Block` @param fields in the order of their declaration */
export function goStruct(type: string, fields: Readonly<Record<string, GoDump>>): GoDump {
  const bare = `{${Object.entries(fields)
    .map(([name, value]) => `${name}:${value.typed}`)
    .join(' ')}}`;
  return { typed: `(${type})${bare}`, bare };
}

/** Dumps a pointer to a structure. @param type type of the structure */
export function goPointer(type: string, { bare }: GoDump): GoDump {
  return { typed: `(*${type})${bare}`, bare: `<*>${bare}` };
}

function byKey([a]: readonly [string | number, unknown], [b]: readonly [string | number, unknown]): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  return compareUtf8(`${a}`, `${b}`);
}
