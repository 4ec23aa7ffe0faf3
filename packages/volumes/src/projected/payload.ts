import { posix } from 'node:path';
import { VolumeError } from '../errors.ts';

/** A file of a volume that the kubelet fills. */
export interface ProjectedFile {
  readonly data: Uint8Array;
  /** Permission bits of the file. */
  readonly mode: number;
  /** User id of the owner. Default: the kubelet's user. */
  readonly ownerUid?: number;
}

/** Files of a volume, by path in the volume. */
export type Payload = ReadonlyMap<string, ProjectedFile>;

const PATH_MAX_BYTES = 4096;
const NAME_MAX_BYTES = 255;

/**
 * Returns the payload with normalized paths. If two normalized paths are equal, the later file is kept.
 * @throws VolumeError `InvalidPath` if a path leads out of the volume, is too long for the kernel, uses a name reserved
 * for the writer (`..data`), or has a file as its parent (W3)
 */
export function cleanPayload(payload: Payload): Payload {
  const clean = new Map<string, ProjectedFile>();
  for (const [path, file] of payload) {
    const problem = payloadPathProblem(path);
    if (problem !== undefined) throw new VolumeError('InvalidPath', `invalid path: ${problem}`);
    clean.set(posix.normalize(path).replace(/\/$/, ''), file);
  }
  for (const path of clean.keys()) {
    for (let parent = posix.dirname(path); parent !== '.'; parent = posix.dirname(parent)) {
      if (!clean.has(parent)) continue;
      throw new VolumeError('InvalidPath', `invalid path: ${path} is below ${parent}, which is a file`);
    }
  }
  return clean;
}

/**
 * Returns why the path of a file is invalid; `undefined` if it is valid (`validatePath` of
 * `pkg/volume/util/atomic_writer.go`).
 */
function payloadPathProblem(path: string): string | undefined {
  if (path === '') return 'must not be empty: ""';
  if (path.startsWith('/')) return `must be relative path: ${path}`;
  if (path.includes('\0')) return 'must not contain a NUL character';
  if (Buffer.byteLength(path) > PATH_MAX_BYTES) return `must be less than or equal to ${PATH_MAX_BYTES} characters`;
  const names = path.split('/');
  if (names.includes('..')) return `must not contain '..': ${path}`;
  if (names.some((name) => Buffer.byteLength(name) > NAME_MAX_BYTES)) {
    return `filenames must be less than or equal to ${NAME_MAX_BYTES} characters`;
  }
  const first = firstName(posix.normalize(path));
  if (first.startsWith('..')) return `must not start with '..': ${path}`;
  return first === '.' ? `must name a file: ${path}` : undefined;
}

/** Returns the first component of a path. */
export function firstName(path: string): string {
  return path.replace(/\/.*/s, '');
}
