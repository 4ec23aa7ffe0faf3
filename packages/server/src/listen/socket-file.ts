import type { Stats } from 'node:fs';
import { chmod, lstat, mkdir, unlink } from 'node:fs/promises';
import { connect } from 'node:net';
import { dirname, isAbsolute } from 'node:path';
import { errorText } from '@node-agent/telemetry';
import { ServerError } from '../errors.ts';

/** The size of `sun_path` on Linux, without its final NUL (unix(7)). */
const MAX_PATH_BYTES = 107;
/** Permission bits of the group and of all other users. */
const OTHERS = 0o077;
const DIRECTORY_MODE = 0o700;
const SOCKET_MODE = 0o600;

/** Returns why a path cannot be the path of a unix socket, or `undefined` if it can. */
export function socketPathProblem(path: string): string | undefined {
  if (!isAbsolute(path) || path.includes('\0')) return 'must be an absolute path';
  if (path.endsWith('/')) return 'must name a file, not a directory';
  const bytes = Buffer.byteLength(path);
  return bytes > MAX_PATH_BYTES ? `must have at most ${MAX_PATH_BYTES} bytes, not ${bytes}` : undefined;
}

/** Returns why a directory does not protect the sockets in it from other users, or `undefined` if it does. */
export function privateDirectoryProblem(
  found: Pick<Stats, 'mode' | 'uid'> & { isDirectory(): boolean },
  uid: number,
): string | undefined {
  if (!found.isDirectory()) return 'is not a directory';
  if (found.uid !== uid) return `belongs to the user ${found.uid}, not to ${uid}`;
  const mode = found.mode & 0o777;
  return (mode & OTHERS) === 0 ? undefined : `has the mode 0${mode.toString(8)}, not 0700`;
}

/**
 * Prepares the path of a socket that only this process's user may open. Creates the directory with mode 0700 if it is
 * missing, and removes the socket of a process that was killed. An existing directory is never changed, because it may
 * belong to other programs.
 * @throws ServerError `ListenFailed` if other users may enter the directory, another process serves the socket, or the
 * path is a file of another kind
 */
export async function prepareSocket(path: string, uid: number): Promise<void> {
  const directory = dirname(path);
  try {
    await mkdir(directory, { recursive: true, mode: DIRECTORY_MODE });
    const problem = privateDirectoryProblem(await lstat(directory), uid);
    if (problem !== undefined) throw new Error(`the directory ${directory} ${problem}`);
    const before = await lstat(path).catch(ifAbsent);
    if (before === undefined) return;
    if (!before.isSocket()) throw new Error('the path is a file that is not a socket');
    if (await isServed(path)) throw new Error('another process serves this socket');
    await unlink(path);
  } catch (error) {
    throw new ServerError('ListenFailed', `cannot listen on ${path}: ${errorText(error)}`, error);
  }
}

/** Sets the mode 0600 of a socket on which a server listens. */
export async function protectSocket(path: string): Promise<void> {
  await chmod(path, SOCKET_MODE);
}

/** Codes of a connection error that say that no process listens on the socket. */
const NOT_SERVED: ReadonlySet<unknown> = new Set(['ECONNREFUSED', 'ENOENT']);

/**
 * Returns whether a process listens on a socket. A process whose queue of connections is full (EAGAIN), or that this
 * user may not reach (EACCES), still listens.
 */
function isServed(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    const decide = (served: boolean): void => {
      socket.destroy();
      resolve(served);
    };
    socket.once('connect', () => decide(true));
    socket.once('error', (error) => decide(!('code' in error && NOT_SERVED.has(error.code))));
  });
}

function ifAbsent(error: unknown): undefined {
  if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
  throw error;
}
