import type { Clock } from '@node-agent/async';
import { ContainerEventType, ContainerState, NamespaceMode } from '@node-agent/cri-client';
import { portService } from '../process/behaviour-program.ts';
import { Console, type Sink } from '../process/console.ts';
import type { ContainerFiles } from '../process/container-files.ts';
import {
  FakeProcess,
  type OutputStream,
  type PortService,
  type ProcessSurroundings,
  type Program,
} from '../process/process.ts';
import { signalNumber, signals } from '../process/signals.ts';
import { failure } from './failure.ts';
import type { Call } from './rpcs.ts';
import { type ContainerRecord, containerState, portsOf, type RuntimeState, sandboxOf, stateName } from './state.ts';

const SIGKILL = signals.SIGKILL ?? 9;
/**
 * Process ids as seen inside containers. A process that is not the first of its PID namespace may have any number but
 * 1.
 */
const SHARED_NAMESPACE_PID = 7;
const EXEC_PID = 20;

/** Starts the container's first process and records its exit. */
export function startProcess(state: RuntimeState, container: ContainerRecord, program: Program): void {
  const { tty, stdin } = container.config;
  const console = new Console({ tty, signal: (signal) => container.process?.signal(signal) });
  console.listen((stream, data) => container.log?.write(stream, data) ?? Promise.resolve());
  const pid = ownsPidNamespace(container) ? 1 : SHARED_NAMESPACE_PID;
  const process = spawn(state, container, program, { pid, stdin, console });
  container.process = process;
  container.console = console;
  container.startedAtNs = state.stampNs();
  container.startedMonotonicMs = state.clock.monotonic();
  state.emit(ContainerEventType.CONTAINER_STARTED_EVENT, container.id, container.sandboxId);
  void process.exited.then((exitCode) => ended(state, container, exitCode));
  try {
    for (const [port, does] of Object.entries(container.behaviour.ports ?? {})) {
      process.listen(Number(port), portService(does));
    }
  } catch {
    process.end(1);
  }
}

/** Starts an additional process in a running container. */
export function spawnExec(
  state: RuntimeState,
  container: ContainerRecord,
  program: Program,
  { tty, stdin, sink }: { readonly tty: boolean; readonly stdin: boolean; readonly sink: Sink },
): { readonly process: FakeProcess; readonly console: Console } {
  const console = new Console({ tty, signal: (signal) => process.signal(signal) });
  console.listen(sink);
  const process = spawn(state, container, program, { pid: EXEC_PID, stdin, console });
  container.execs.add(process);
  void process.exited.then(() => container.execs.delete(process));
  return { process, console };
}

function spawn(
  state: RuntimeState,
  container: ContainerRecord,
  program: Program,
  { pid, stdin, console }: { readonly pid: number; readonly stdin: boolean; readonly console: Console },
): FakeProcess {
  const ports = portsOf(state, sandboxOf(state, container.sandboxId, 'sandbox not found'));
  const surroundings = new ContainerSurroundings(state.clock, container, console, { ports, stdin });
  return new FakeProcess(surroundings, program, pid);
}

/** The container, console and ports of a process. A fleet has thousands of processes, so it copies nothing. */
class ContainerSurroundings implements ProcessSurroundings {
  readonly clock: Clock;
  readonly stdin: boolean;
  readonly #container: ContainerRecord;
  readonly #console: Console;
  readonly #ports: Map<number, PortService>;

  constructor(
    clock: Clock,
    container: ContainerRecord,
    console: Console,
    { ports, stdin }: { readonly ports: Map<number, PortService>; readonly stdin: boolean },
  ) {
    this.clock = clock;
    this.stdin = stdin;
    this.#container = container;
    this.#console = console;
    this.#ports = ports;
  }

  get env(): ReadonlyMap<string, string> {
    const { hostname, imageEnv, config } = this.#container;
    const environment = new Map([['PATH', '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin']]);
    environment.set('HOSTNAME', hostname);
    for (const pair of imageEnv) {
      const [name = '', ...value] = pair.split('=');
      environment.set(name, value.join('='));
    }
    const decoder = new TextDecoder();
    for (const { key, value } of config.envs) environment.set(key, decoder.decode(value));
    return environment;
  }

  get workingDir(): string {
    return this.#container.workingDir;
  }

  get uid(): number {
    return this.#container.uid;
  }

  get gid(): number {
    return this.#container.gid;
  }

  get hostname(): string {
    return this.#container.hostname;
  }

  get files(): ContainerFiles {
    return this.#container.files;
  }

  get input(): Console['input'] {
    return this.#console.input;
  }

  get terminal(): Console['terminal'] {
    return this.#console.terminal;
  }

  write(stream: OutputStream, data: Uint8Array): Promise<void> {
    return this.#console.write(stream, data);
  }

  listen(port: number, serve: PortService): () => void {
    if (this.#ports.has(port)) throw new Error(`port ${port}: address already in use`);
    this.#ports.set(port, serve);
    return () => void this.#ports.delete(port);
  }

  signalInit(signal: number): void {
    const { process } = this.#container;
    if (process?.pid === 1) process.signal(signal, true);
  }
}

/**
 * Kills the containers that share the sandbox's PID namespace, because that namespace ends with the sandbox's own
 * process.
 */
export function killSharedProcesses(containers: readonly ContainerRecord[]): void {
  for (const container of containers) {
    const mode = container.config.linux?.securityContext?.namespaceOptions?.pid ?? NamespaceMode.POD;
    if (mode === NamespaceMode.POD) container.process?.signal(SIGKILL);
  }
}

function ownsPidNamespace(container: ContainerRecord): boolean {
  return container.config.linux?.securityContext?.namespaceOptions?.pid === NamespaceMode.CONTAINER;
}

async function ended(state: RuntimeState, container: ContainerRecord, exitCode: number): Promise<void> {
  for (const exec of container.execs) exec.end(128 + SIGKILL);
  await container.log?.close();
  markExited(state, container, exitCode, container.deathReason);
}

/** Records a container's exit, unless an exit of the container is already recorded. */
export function markExited(state: RuntimeState, container: ContainerRecord, exitCode: number, reason: string): void {
  if (container.finishedAtNs !== 0) return;
  container.finishedAtNs = state.stampNs();
  container.exitCode = exitCode;
  container.reason = reason;
  container.stopped.resolve();
  state.emit(ContainerEventType.CONTAINER_STOPPED_EVENT, container.id, container.sandboxId);
}

/**
 * Stops a running container: stop signal, grace period of `timeoutMs`, then SIGKILL. If `timeoutMs` is 0, SIGKILL is
 * sent immediately.
 */
export async function stopContainer(
  state: RuntimeState,
  container: ContainerRecord,
  timeoutMs: number,
  call: Call,
): Promise<void> {
  if (containerState(container) !== ContainerState.CONTAINER_RUNNING) return;
  if (timeoutMs > 0) {
    if (!container.stopSignalSent) {
      container.stopSignalSent = true;
      container.process?.signal(signalNumber(container.stopSignal) ?? 15);
    }
    if (await stoppedWithin(container, timeoutMs, call)) return;
  }
  kill(state, container);
  await stoppedWithin(container, Number.POSITIVE_INFINITY, call);
}

/** Sends SIGKILL after the kill latency, even if the call that requested the kill has ended. */
function kill(state: RuntimeState, container: ContainerRecord): void {
  if (container.killSent) return;
  container.killSent = true;
  const delayMs = Math.max(state.latencies.killMs, container.behaviour.killDelayMs ?? 0);
  const send = (): void => container.process?.signal(SIGKILL);
  if (delayMs > 0) state.clock.setTimer(delayMs, send);
  else send();
}

async function stoppedWithin(container: ContainerRecord, timeoutMs: number, call: Call): Promise<boolean> {
  if (timeoutMs === Number.POSITIVE_INFINITY) {
    await untilAborted(container.stopped.promise, call.signal);
    return true;
  }
  const grace = new AbortController();
  const onAbort = (): void => grace.abort(call.signal.reason);
  call.signal.addEventListener('abort', onAbort, { once: true });
  try {
    const expired = call.sleep(timeoutMs, grace.signal).then(() => false);
    expired.catch(() => {});
    return await Promise.race([container.stopped.promise.then(() => true), expired]);
  } finally {
    call.signal.removeEventListener('abort', onAbort);
    grace.abort();
  }
}

async function untilAborted(promise: Promise<void>, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const aborted = Promise.withResolvers<never>();
  const onAbort = (): void => aborted.reject(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    await Promise.race([promise, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

/**
 * Removes a container, after killing it if it is running.
 * @throws UNKNOWN while the container is being started or removed
 */
export async function removeContainer(state: RuntimeState, container: ContainerRecord, call: Call): Promise<void> {
  await stopContainer(state, container, 0, call);
  if (!state.containers.has(container.id)) return;
  const now = containerState(container);
  const cannot = `failed to set removing state for container "${container.id}"`;
  if (now === ContainerState.CONTAINER_RUNNING)
    throw failure('UNKNOWN', `${cannot}: container is in ${stateName(now)}`);
  if (container.starting) throw failure('UNKNOWN', `${cannot}: container is in starting state, can't be removed`);
  if (container.removing) throw failure('UNKNOWN', `${cannot}: container is already in removing state`);
  if (container.taskLeaked) {
    const details = `cannot delete running task ${container.id}: failed precondition`;
    throw failure('FAILED_PRECONDITION', `failed to delete containerd container "${container.id}": ${details}`);
  }
  container.removing = true;
  try {
    await call.sleep(state.latencies.removeContainerMs);
  } finally {
    container.removing = false;
  }
  state.containers.delete(container.id);
  state.containerNames.delete(container.name);
  state.emit(ContainerEventType.CONTAINER_DELETED_EVENT, container.id, container.sandboxId);
}
