import { type Duplex, duplexPair, type Readable, type Writable } from 'node:stream';
import { type AttachRequest, ContainerState, type ExecRequest } from '@node-agent/cri-client';
import type { Console, Sink } from '../process/console.ts';
import { signals } from '../process/signals.ts';
import type { TerminalSize } from '../process/terminal.ts';
import { spawnExec } from './container-life.ts';
import { failure } from './failure.ts';
import { chooseExecProgram } from './program.ts';
import {
  type ContainerRecord,
  containerOf,
  containerState,
  portsOf,
  type RuntimeState,
  sandboxOf,
  stateName,
} from './state.ts';

/** The streams of a command or of a container, at the client's end. */
export interface CommandStreams {
  readonly stdin?: Readable | undefined;
  readonly stdout?: Writable | undefined;
  readonly stderr?: Writable | undefined;
  /** Resolves when the client is not there any more. */
  readonly gone: Promise<void>;
  /** Calls `listener` for each size that the client's terminal takes, with those told before. */
  onResize(listener: (size: TerminalSize) => void): void;
}

/** How long one direction of a forwarded port may go on without the other, in milliseconds. */
const FORWARD_LINGER_MS = 1000;

/**
 * Runs a command, as containerd 2.4: it is killed when its client has gone. The end of what is typed at a terminal is not the
 * end of its input, but nothing more is shown.
 * @returns its exit code; @throws where it cannot be run
 */
export async function streamExec(state: RuntimeState, request: ExecRequest, streams: CommandStreams): Promise<number> {
  const container = running(state, request.containerId, 'failed to exec in container: ');
  const program = chooseExecProgram(container, request.cmd);
  const { tty, stdin } = request;
  const { process, console } = spawnExec(state, container, program, { tty, stdin, sink: sinkOf(streams) });
  streams.onResize((size) => console.terminal?.resize(size));
  void streams.gone.then(() => process.signal(signals.SIGKILL ?? 9));
  if (streams.stdin !== undefined) {
    void feed(streams.stdin, console).then(() => (tty ? streams.stdout?.end() : console.input.end()));
  }
  const exitCode = await process.exited;
  for (const output of [streams.stdout, streams.stderr]) output?.end();
  return exitCode;
}

/** Joins a container: what it writes from now on, and what it is to read. Resolves when either is over. */
export async function streamAttach(
  state: RuntimeState,
  request: AttachRequest,
  streams: CommandStreams,
): Promise<void> {
  const container = running(state, request.containerId, '');
  const { console } = container;
  if (console === undefined)
    throw failure('UNKNOWN', `failed to load task: no running task found: task ${container.id}`);
  const over = Promise.withResolvers<void>();
  const stopListening = console.listen(sinkOf(streams));
  streams.onResize((size) => console.terminal?.resize(size));
  if (streams.stdin !== undefined && container.config.stdin) {
    void feed(streams.stdin, console).then(() => {
      // The end of the client's input is the container's only where it was to have one client.
      if (container.config.stdinOnce && !container.config.tty) console.input.end();
      else over.resolve();
    });
  }
  await Promise.race([container.stopped.promise, over.promise, streams.gone]);
  stopListening();
  for (const output of [streams.stdout, streams.stderr]) output?.end();
}

/** Joins a stream with a port of a pod until both are done. @throws where nothing serves the port */
export async function streamPort(
  state: RuntimeState,
  { podSandboxId, port }: { readonly podSandboxId: string; readonly port: number },
  stream: Duplex,
): Promise<void> {
  const sandbox = sandboxOf(state, podSandboxId, 'failed to find sandbox');
  const serve = portsOf(state, sandbox).get(port);
  if (serve === undefined || !sandbox.ready) {
    const refusal = (family: string, host: string): string =>
      `dial ${family} ${host}:${port}: connect: connection refused`;
    throw failure(
      'UNKNOWN',
      `failed to execute portforward in network namespace "${sandbox.id}": failed to connect to localhost:${port} inside ` +
        `namespace "${sandbox.id}", IPv4: ${refusal('tcp4', '127.0.0.1')} IPv6 ${refusal('tcp6', '[::1]')} `,
    );
  }
  const [near, far] = duplexPair();
  for (const end of [near, far]) end.on('error', () => {});
  serve(far);
  const done = [copied(stream, near), copied(near, stream)];
  await Promise.race(done);
  const late = Promise.withResolvers<void>();
  const timer = state.clock.setTimer(FORWARD_LINGER_MS, late.resolve);
  await Promise.race([Promise.all(done), late.promise]);
  timer.cancel();
  near.destroy();
  far.destroy();
}

/** An end of one direction is not handed on, as by containerd: the other has a while left. */
async function copied(from: Readable, to: Writable): Promise<void> {
  try {
    for await (const chunk of from.iterator({ destroyOnReturn: false })) await written(to, chunk);
  } catch {
    // A break is an end.
  }
}

async function feed(stdin: Readable, console: Console): Promise<void> {
  try {
    for await (const chunk of stdin.iterator({ destroyOnReturn: false })) await console.feed(chunk);
  } catch {
    // A client that has gone says nothing more.
  }
}

function sinkOf({ stdout, stderr }: CommandStreams): Sink {
  return async (stream, data) => {
    const to = stream === 'stdout' ? stdout : stderr;
    if (to !== undefined) await written(to, data);
  };
}

/** Resolves when more is wanted, or nothing will be. */
function written(to: Writable, data: Uint8Array): Promise<void> {
  return new Promise((resolve) => {
    if (to.writable) to.write(data, () => resolve());
    else resolve();
  });
}

function running(state: RuntimeState, id: string, doing: string): ContainerRecord {
  const container = containerOf(state, id, `${doing}failed to find container in store`);
  const now = containerState(container);
  if (now === ContainerState.CONTAINER_RUNNING) return container;
  throw failure('UNKNOWN', `${doing}container is in ${stateName(now)} state`);
}
