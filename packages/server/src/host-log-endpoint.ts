import type { Endpoints } from './call.ts';
import type { Answer } from './exchange.ts';
import { type Reply, text } from './reply.ts';

/** An open file. */
export interface HostLogFile {
  read(position: number, length: number): Promise<Uint8Array>;
  stat(): Promise<{ readonly sizeBytes: number }>;
  close(): Promise<void>;
}

/** What of the host's files is touched: nothing is changed. `FileSystem` of `host` is one. */
export interface HostLogFiles {
  /** Opens a file below a directory; no name and no link leads out of it. @throws EISDIR for a directory; ENOENT, ELOOP, ... */
  openBeneath(directory: string, path: string, options: { readonly links: 'within' }): Promise<HostLogFile>;
  readdir(path: string): Promise<readonly { readonly name: string; readonly kind: string }[]>;
  realpath(path: string): Promise<string>;
}

export interface HostLogOptions {
  /** `/var/log` by default. */
  readonly directory?: string;
}

const CHUNK_BYTES = 64 * 1024;
const MAX_ENTRIES = 10_000;
/** What says that there is nothing to be seen there. */
const NOT_THERE: ReadonlySet<unknown> = new Set(['ENOENT', 'ENOTDIR', 'ELOOP', 'EXDEV', 'ENXIO', 'ENAMETOOLONG']);

/** `/logs/` of a {@link SecuredServer}: the host's own logs, file by file, as `http.FileServer` shows them upstream (W3). */
export function hostLogEndpoints(files: HostLogFiles, { directory = '/var/log' }: HostLogOptions = {}): Endpoints {
  return {
    async logs({ params: { rest }, signal }) {
      try {
        return await show(files, directory, rest, signal);
      } catch (error) {
        const code = error instanceof Error && 'code' in error ? error.code : undefined;
        if (NOT_THERE.has(code)) return text(404, '404 page not found\n');
        if (code === 'EACCES') return text(403, '403 Forbidden\n');
        throw error;
      }
    },
  };
}

async function show(
  files: HostLogFiles,
  directory: string,
  rest: readonly string[],
  signal: AbortSignal,
): Promise<Answer> {
  if (rest.length === 0) return listing(await files.readdir(directory));
  let file: HostLogFile;
  try {
    file = await files.openBeneath(directory, rest.join('/'), { links: 'within' });
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EISDIR')) throw error;
    return await subdirectory(files, directory, rest);
  }
  let isClosed = false;
  const close = async (): Promise<void> => {
    if (isClosed) return;
    isClosed = true;
    await file.close();
  };
  // Whether or not anybody has begun to read: it is closed when nobody will.
  signal.addEventListener('abort', () => void close().catch(() => {}), { once: true });
  if (signal.aborted) await close();
  const { sizeBytes } = await file.stat();
  return {
    status: 200,
    headers: { 'Content-Type': 'text/plain; charset=utf-8', ...PLAIN },
    stream: content(file, sizeBytes, close),
  };
}

/** What it has now: what is written meanwhile would make it endless. */
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

/** Its names alone are shown, and only while it is the directory that it says to be. */
async function subdirectory(files: HostLogFiles, directory: string, rest: readonly string[]): Promise<Reply> {
  const path = [await files.realpath(directory), ...rest].join('/');
  if ((await files.realpath(path)) !== path) return text(404, '404 page not found\n');
  const entries = await files.readdir(path);
  return (await files.realpath(path)) === path ? listing(entries) : text(404, '404 page not found\n');
}

const PLAIN = { 'X-Content-Type-Options': 'nosniff' };
const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&#34;',
  "'": '&#39;',
};

/** As Go's file server writes it, which programs read. */
function listing(entries: readonly { readonly name: string; readonly kind: string }[]): Reply {
  const links = entries.slice(0, MAX_ENTRIES).map(({ name, kind }) => {
    // A name need be no text, and then no URL leads to it.
    const legible = name.toWellFormed();
    const shown = kind === 'directory' ? `${legible}/` : legible;
    const href = shown.split('/').map(encodeURIComponent).join('/');
    return `<a href="${href}">${shown.replace(/[&<>"']/g, (character) => ESCAPES[character] ?? '')}</a>\n`;
  });
  const body = `<!doctype html>\n<meta name="viewport" content="width=device-width">\n<pre>\n${links.join('')}</pre>\n`;
  return { status: 200, headers: { 'Content-Type': 'text/html; charset=utf-8', ...PLAIN }, body };
}
