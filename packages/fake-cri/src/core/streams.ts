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

/** The client's streams of an exec or attach. */
export interface CommandStreams {
  readonly stdin?: Readable | undefined;
  readonly stdout?: Writable | undefined;
  readonly stderr?: Writable | undefined;
  /** Resolves when the client has disconnected. */
  readonly gone: Promise<void>;
  /** Calls `listener` for each size of the client's terminal, including the last size received before the call. */
  onResize(listener: (size: TerminalSize) => void): void;
}

/** Time for which one direction of a forwarded connection continues after the other has ended, in milliseconds. */
const FORWARD_LINGER_MS = 1000;

/**
 * Runs a command. As in containerd 2.4, the command is killed when its client disconnects. When a client with a
 * terminal ends its input, the command's input stays open, but no more output is sent to the client.
 * @returns its exit code
 * @throws CriError if the command cannot be run
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

/**
 * Attaches to a container: copies the container's new output to the client and the client's input to the container.
 * Resolves when the container exits, the client's input ends or the client disconnects.
 */
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
      // The end of the client's input closes the container's input only if the container has `stdinOnce` and no
      // terminal.
      if (container.config.stdinOnce && !container.config.tty) console.input.end();
      else over.resolve();
    });
  }
  await Promise.race([container.stopped.promise, over.promise, streams.gone]);
  stopListening();
  for (const output of [streams.stdout, streams.stderr]) output?.end();
}

/**
 * Connects a stream with a port of a pod until both directions are done.
 * @throws CriError if no process serves the port
 */
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

/**
 * Copies data from `from` to `to` until `from` ends. Like containerd, does not end `to` then: the other direction of
 * the connection continues for a limited time.
 */
async function copied(from: Readable, to: Writable): Promise<void> {
  try {
    for await (const chunk of from.iterator({ destroyOnReturn: false })) await written(to, chunk);
  } catch {
    // A broken connection counts as the end of `from`.
  }
}

async function feed(stdin: Readable, console: Console): Promise<void> {
  try {
    for await (const chunk of stdin.iterator({ destroyOnReturn: false })) await console.feed(chunk);
  } catch {
    // A disconnected client sends no more input.
  }
}

function sinkOf({ stdout, stderr }: CommandStreams): Sink {
  return async (stream, data) => {
    const to = stream === 'stdout' ? stdout : stderr;
    if (to !== undefined) await written(to, data);
  };
}

/** Resolves when `to` accepts more data, or is closed. */
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
