import { pipeline, Readable } from 'node:stream';
import { createGzip, constants as zlib } from 'node:zlib';
import type { Clock } from '@node-agent/async';
import { errorText, withDefaults } from '@node-agent/telemetry';
import { takesGzip } from '../http/accept.ts';
import type { Answer } from '../http/exchange.ts';
import { type Reply, text } from '../http/reply.ts';
import type { NodeJournal } from '../node-log/journal.ts';
import { type NodeLogQuery, parseNodeLogQuery } from '../node-log/node-log-query.ts';
import { serviceLogs } from '../node-log/service-logs.ts';
import type { Call, Endpoints } from './call.ts';
import { directoryPage } from './directory-page.ts';

/** An open file. */
export interface HostLogFile {
  read(position: number, length: number): Promise<Uint8Array>;
  stat(): Promise<{ readonly sizeBytes: number }>;
  close(): Promise<void>;
}

/** Read access to the host's files. `FileSystem` of `@node-agent/host` implements it. */
export interface HostLogFiles {
  /**
   * Opens a file below a directory. Neither a name nor a link can lead out of the directory. @throws EISDIR for a
   * directory; ENOENT, ELOOP, ...
   */
  openBeneath(directory: string, path: string, options: { readonly links: 'within' }): Promise<HostLogFile>;
  readdir(path: string): Promise<readonly { readonly name: string; readonly kind: string }[]>;
  realpath(path: string): Promise<string>;
}

/** The components of {@link hostLogEndpoints}. */
export interface HostLogComponents {
  readonly files: HostLogFiles;
  /**
   * The journal from which logs of services are read (`enableSystemLogQuery`). If absent, query parameters are ignored.
   */
  readonly journal?: NodeJournal;
  readonly clock?: Clock;
}

/** The options of {@link hostLogEndpoints}. */
export interface HostLogOptions {
  /** The directory of the logs. Default: `/var/log`. */
  readonly directory?: string;
}

const CHUNK_BYTES = 64 * 1024;
/** Codes of file system errors for which the client gets 404. */
const NOT_THERE: ReadonlySet<unknown> = new Set(['ENOENT', 'ENOTDIR', 'ELOOP', 'EXDEV', 'ENXIO', 'ENAMETOOLONG']);
/** The character NUL, which no file name can contain. */
const NUL = '\0';
const PLAIN = { 'X-Content-Type-Options': 'nosniff' };

/**
 * Returns the handler of `/logs/` of a {@link SecuredServer}. The handler serves the host's log files in the format of
 * upstream's `http.FileServer`, and answers log queries (W3).
 */
export function hostLogEndpoints(
  components: HostLogComponents,
  { directory = '/var/log' }: HostLogOptions = {},
): Endpoints {
  const { files, journal, clock } = withDefaults(components);
  return {
    async logs(call) {
      const { rest } = call.params;
      const asked = journal === undefined ? undefined : parseNodeLogQuery(call.query, rest.length > 0);
      if (asked !== undefined && asked.query === undefined) return text(asked.status, `${asked.message}\n`);
      if (journal === undefined || asked === undefined) return await shown(files, directory, rest, call.signal);
      if (asked.query.file !== undefined) return await queriedFile(files, directory, asked.query.file, call.signal);
      const readFile = (path: string, signal: AbortSignal) => wholeFile(files, directory, path, signal);
      return serviceAnswer(call, serviceLogs({ clock, journal, readFile }, asked.query, call.signal));
    },
  };
}

function serviceAnswer({ headers }: Call, stream: AsyncGenerator<Uint8Array>): Answer {
  const type = { 'Content-Type': 'text/plain;charset=UTF-8', Vary: 'Accept-Encoding', ...PLAIN };
  if (!takesGzip(headers['accept-encoding'])) return { status: 200, headers: type, stream };
  return { status: 200, headers: { ...type, 'Content-Encoding': 'gzip' }, stream: zipped(stream) };
}

/** Compresses a stream. Compression starts with the first read, so that nothing is compressed for a `HEAD` request. */
async function* zipped(stream: AsyncGenerator<Uint8Array>): AsyncGenerator<Uint8Array> {
  const gzip = createGzip({ level: zlib.Z_BEST_SPEED });
  // If the input stream fails, `pipeline` destroys `gzip`, so that reading the output fails too.
  pipeline(Readable.from(stream), gzip, () => {});
  yield* gzip;
}

/**
 * Serves a file that a query names. As in upstream, a missing file leads to the status of an invalid query, not to 404.
 */
async function queriedFile(
  files: HostLogFiles,
  directory: string,
  name: NonNullable<NodeLogQuery['file']>,
  signal: AbortSignal,
): Promise<Answer> {
  // Upstream's documentation writes the path with a leading slash. Upstream's code rejects such a path, because it
  // opens files below a root directory.
  const path = name.split('/');
  const refused = (why: string): Reply => text(406, `query: Invalid value: ${JSON.stringify([name])}: ${why}\n`);
  if (path.includes('..')) return refused(`statat ${name}: path escapes from parent`);
  if (name.includes(NUL)) return refused(`statat ${name}: invalid argument`);
  try {
    return await show(
      files,
      directory,
      path.filter((part) => part !== '' && part !== '.'),
      signal,
    );
  } catch (error) {
    const code = codeOf(error);
    if (code === 'ENOENT') return refused(`statat ${name}: no such file or directory`);
    if (NOT_THERE.has(code) || code === 'EACCES') return refused(errorText(error));
    throw error;
  }
}

async function shown(
  files: HostLogFiles,
  directory: string,
  rest: readonly string[],
  signal: AbortSignal,
): Promise<Answer> {
  if (rest.some((part) => part.includes(NUL))) return notFound();
  try {
    return await show(files, directory, rest, signal);
  } catch (error) {
    const code = codeOf(error);
    if (NOT_THERE.has(code)) return notFound();
    if (code === 'EACCES') return text(403, '403 Forbidden\n');
    throw error;
  }
}

async function show(
  files: HostLogFiles,
  directory: string,
  rest: readonly string[],
  signal: AbortSignal,
): Promise<Answer> {
  if (rest.length === 0) return directoryPage(await files.readdir(directory));
  let file: HostLogFile;
  try {
    file = await files.openBeneath(directory, rest.join('/'), { links: 'within' });
  } catch (error) {
    if (codeOf(error) !== 'EISDIR') throw error;
    return await subdirectory(files, directory, rest);
  }
  let isClosed = false;
  const close = async (): Promise<void> => {
    if (isClosed) return;
    isClosed = true;
    await file.close();
  };
  // Closes the file when the request ends, even if reading never started.
  signal.addEventListener('abort', () => void close().catch(() => {}), { once: true });
  if (signal.aborted) await close();
  const { sizeBytes } = await file.stat();
  return {
    status: 200,
    headers: { 'Content-Type': 'text/plain; charset=utf-8', ...PLAIN },
    stream: content(file, sizeBytes, close),
  };
}

async function* wholeFile(
  files: HostLogFiles,
  directory: string,
  path: string,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const file = await files.openBeneath(directory, path, { links: 'within' });
  const { sizeBytes } = await file.stat();
  for await (const chunk of content(file, sizeBytes, () => file.close())) {
    signal.throwIfAborted();
    yield chunk;
  }
}

/**
 * Yields the content of a file up to the size that the file had when it was opened. Otherwise the response for a file
 * that is still being written would never end.
 */
async function* content(file: HostLogFile, sizeBytes: number, close: () => Promise<void>): AsyncGenerator<Uint8Array> {
  try {
    for (let position = 0; position < sizeBytes; ) {
      const chunk = await file.read(position, Math.min(CHUNK_BYTES, sizeBytes - position));
      if (chunk.length === 0) return;
      position += chunk.length;
      yield chunk;
    }
  } finally {
    await close();
  }
}

/**
 * Lists a subdirectory. Its real path is compared before and after reading, so that a link that replaces the directory
 * meanwhile is detected.
 */
async function subdirectory(files: HostLogFiles, directory: string, rest: readonly string[]): Promise<Reply> {
  const path = [await files.realpath(directory), ...rest].join('/');
  if ((await files.realpath(path)) !== path) return notFound();
  const entries = await files.readdir(path);
  return (await files.realpath(path)) === path ? directoryPage(entries) : notFound();
}

function notFound(): Reply {
  return text(404, '404 page not found\n');
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}
