import type { Readable, Writable } from 'node:stream';
import { SpdyConnection, SpdyError, type SpdyStream } from '@node-agent/spdy';
import { errorText } from '@node-agent/telemetry';
import { CtlError } from '../errors.ts';
import { exitCodes } from '../exit-codes.ts';
import type { Upgraded } from '../kubelet-client.ts';

/** The protocols of exec; since protocol v4, the error stream carries the exit code. */
export const EXEC_PROTOCOLS: readonly string[] = ['v4.channel.k8s.io'];

/** The streams of this program that are joined to those of the command. */
export interface ExecTerminal {
  readonly stdin: Readable | undefined;
  readonly stdout: Writable;
  /** Stream for the command's error output; absent for a terminal, which has a single output. */
  readonly stderr: Writable | undefined;
  /** Yields the terminal's size at the start and whenever it changes; absent if there is no terminal. */
  readonly sizes?: AsyncIterable<{ readonly Width: number; readonly Height: number }>;
}

const MAX_STATUS_BYTES = 1024 * 1024;

/**
 * Carries a command's streams until the command has ended, and returns its exit code.
 * @param signal hangs up, which ends the command
 * @throws CtlError `execFailed` if the command could not be run
 */
export async function carryExec(upgraded: Upgraded, terminal: ExecTerminal, signal: AbortSignal): Promise<number> {
  const connection = new SpdyConnection(upgraded.socket, { role: 'client', head: upgraded.head });
  const hangUp = (): void => connection.hangUp();
  signal.addEventListener('abort', hangUp, { once: true });
  try {
    const open = (type: string): Promise<SpdyStream> => connection.open({ streamtype: type });
    const { stdin, stdout, stderr, sizes } = terminal;
    // All streams are requested before any is awaited: the runtime starts the command when it has all of them.
    const [error, input, output, errors, resize] = await Promise.all([
      open('error'),
      stdin && open('stdin'),
      open('stdout'),
      stderr && open('stderr'),
      sizes && open('resize'),
    ]);
    if (input && stdin) stdin.pipe(input);
    if (resize && sizes) void sendSizes(resize, sizes);
    for (const idle of [input, resize]) idle?.resume();
    const [said] = await Promise.all([
      textOf(error),
      copy(output, stdout),
      ...(errors && stderr ? [copy(errors, stderr)] : []),
    ]);
    if (stdin && input) stdin.unpipe(input);
    return exitCodeOf(said);
  } catch (error) {
    if (!SpdyError.is(error)) throw error;
    throw new CtlError(`exec: ${errorText(error)}`, exitCodes.execFailed, { cause: error });
  } finally {
    signal.removeEventListener('abort', hangUp);
    connection.destroy();
  }
}

/**
 * Returns the exit code in the status that a runtime sends on the error stream (`metav1.Status`).
 * @throws CtlError `execFailed` if the command was not run
 */
export function exitCodeOf(said: string): number {
  let status: { status?: unknown; message?: unknown; reason?: unknown; details?: { causes?: unknown } };
  try {
    status = JSON.parse(said);
  } catch {
    const message = said === '' ? 'the connection ended before the command' : said;
    throw new CtlError(`exec: ${message}`, exitCodes.execFailed);
  }
  if (status?.status === 'Success') return exitCodes.ok;
  const causes = Array.isArray(status?.details?.causes) ? status.details.causes : [];
  const code = causes.find((cause) => cause?.reason === 'ExitCode')?.message;
  if (status?.reason === 'NonZeroExitCode' && typeof code === 'string' && /^\d{1,3}$/.test(code)) return Number(code);
  throw new CtlError(`exec: ${String(status?.message ?? said)}`, exitCodes.execFailed);
}

async function sendSizes(stream: SpdyStream, sizes: NonNullable<ExecTerminal['sizes']>): Promise<void> {
  for await (const size of sizes) {
    if (!stream.writable) return;
    stream.write(`${JSON.stringify(size)}\n`);
  }
}

/** Copies a stream and resolves at its end. If the reader has closed the pipe, only the copying ends. */
function copy(from: SpdyStream, to: Writable): Promise<void> {
  return new Promise((resolve) => {
    from.on('data', (chunk: Buffer) => {
      if (to.destroyed || to.write(chunk)) return;
      from.pause();
      to.once('drain', () => from.resume());
    });
    from.once('end', resolve).once('close', resolve);
  });
}

async function textOf(stream: SpdyStream): Promise<string> {
  const parts: Buffer[] = [];
  let size = 0;
  stream.on('data', (part: Buffer) => {
    size += part.length;
    if (size <= MAX_STATUS_BYTES) parts.push(part);
  });
  await new Promise((resolve) => stream.once('end', resolve).once('close', resolve));
  return Buffer.concat(parts).toString();
}
