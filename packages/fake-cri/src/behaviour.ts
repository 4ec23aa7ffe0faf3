import type { ContainerConfig, PodSandboxConfig } from '@node-agent/cri-client';
import type { PortService, Program } from './process/process.ts';

/** A line that a scripted container prints. */
export interface ScriptedOutput {
  /** Milliseconds after the container's start. Default: 0. */
  readonly atMs?: number;
  /** Output stream that receives the text. Default: `stdout`. */
  readonly stream?: 'stdout' | 'stderr';
  /** The printed text. No newline is added. */
  readonly text: string;
}

/** Result of a command that is run in a scripted container. */
export interface ExecResult {
  readonly stdout?: string;
  readonly stderr?: string;
  /** Exit code of the command. Default: 0. */
  readonly exitCode?: number;
  /** Run time of the command, in milliseconds. Default: 0. */
  readonly durationMs?: number;
}

/**
 * Behaviour of a port of a scripted container: `echo` sends back the received bytes, `{ reply }` sends
 * `reply` after the client's first bytes, and a function gets the connection.
 */
export type PortBehaviour = 'echo' | { readonly reply: string } | PortService;

/** Behaviour of a container. All fields are optional: an empty behaviour runs until the container is stopped. */
export interface Behaviour {
  /** Additional duration of StartContainer in milliseconds, on top of the runtime's `startContainerMs` latency. */
  readonly startDelayMs?: number;
  /** Makes StartContainer fail with this message. The container is then exited with code 128 and reason StartError. */
  readonly startError?: string;
  /**
   * Milliseconds after its start at which the container exits. If absent, the container does not exit until it is
   * stopped.
   */
  readonly exitAfterMs?: number;
  /** Exit code for `exitAfterMs`. Default: 0. */
  readonly exitCode?: number;
  /** If true, the exit after `exitAfterMs` is an out-of-memory kill: code 137, reason OOMKilled. */
  readonly oomKilled?: boolean;
  readonly output?: readonly ScriptedOutput[];
  /** If true, SIGTERM has no effect. */
  readonly ignoreTerm?: boolean;
  /** Time that the container keeps running after SIGTERM, in milliseconds. */
  readonly stopDelayMs?: number;
  /** Exit code after SIGTERM. Default: 143. */
  readonly termExitCode?: number;
  /** Time that the container keeps running after SIGKILL, in milliseconds, like a process in uninterruptible sleep. */
  readonly killDelayMs?: number;
  /**
   * Results of commands that are run in the container: a function of the command, or a map whose keys are command lines
   * (arguments joined with spaces).
   */
  readonly exec?: Readonly<Record<string, ExecResult>> | ((command: readonly string[]) => ExecResult | undefined);
  /**
   * The ports that the container serves in its pod's network, by number. If another container of the pod already serves
   * one of these ports, this container exits with code 1.
   */
  readonly ports?: Readonly<Record<string, PortBehaviour>>;
  /** Usage that stats report while the container runs. */
  readonly usage?: { readonly cpuNanoCores?: number; readonly memoryBytes?: number };
  /** Program of the container. The program replaces the scripted exit, output and signal handling above. */
  readonly program?: Program;
}

/** The container that is about to start, as a {@link Script} gets it. */
export interface ScriptedContainer {
  readonly id: string;
  /** The container's name in its pod. */
  readonly name: string;
  readonly attempt: number;
  /**
   * The image as the pod names it (`userSpecifiedImage`). If the client does not set that field, the image of the
   * container's configuration. A kubelet sets the latter to the ID of the image.
   */
  readonly image: string;
  /** Command and arguments of the container. If the container sets no command, the command of the image. */
  readonly command: readonly string[];
  readonly config: ContainerConfig;
  readonly sandboxConfig: PodSandboxConfig;
}

/** Decides what a container does. If it returns `undefined`, the container's annotation, image and command decide. */
export type Script = (container: ScriptedContainer) => Behaviour | undefined;

/**
 * The annotation of a pod or container whose value is a {@link Behaviour} in JSON. The container's annotation takes
 * precedence over the pod's.
 */
export const BEHAVIOUR_ANNOTATION = 'fake-cri.node-agent.dev/behaviour';

const NUMBERS = ['startDelayMs', 'exitAfterMs', 'exitCode', 'stopDelayMs', 'termExitCode', 'killDelayMs'];
const BOOLEANS = ['oomKilled', 'ignoreTerm'];

/**
 * Parses a {@link Behaviour} from the JSON of {@link BEHAVIOUR_ANNOTATION}. JSON cannot express the fields that are
 * functions.
 * @throws TypeError that names the invalid field
 */
export function parseBehaviour(json: string): Behaviour {
  const where = `annotation ${BEHAVIOUR_ANNOTATION}`;
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch (cause) {
    throw new TypeError(`${where}: must be JSON`, { cause });
  }
  if (!isRecord(value)) throw new TypeError(`${where}: must be an object`);
  for (const [field, given] of Object.entries(value)) {
    const problem = fieldProblem(field, given);
    if (problem !== undefined) throw new TypeError(`${where}: ${field}: ${problem}`);
  }
  return value;
}

function fieldProblem(field: string, value: unknown): string | undefined {
  if (NUMBERS.includes(field)) {
    return typeof value === 'number' && Number.isInteger(value) && value >= 0
      ? undefined
      : 'must be a non-negative integer';
  }
  if (BOOLEANS.includes(field)) return typeof value === 'boolean' ? undefined : 'must be true or false';
  if (field === 'startError') return typeof value === 'string' ? undefined : 'must be a string';
  if (field === 'output') return outputProblem(value);
  if (field === 'exec') return execProblem(value);
  if (field === 'ports') return portsProblem(value);
  if (field === 'usage') {
    return isRecord(value) && Object.entries(value).every(([key, n]) => isUsage(key, n))
      ? undefined
      : 'must be { cpuNanoCores, memoryBytes }';
  }
  return 'unknown field';
}

function outputProblem(value: unknown): string | undefined {
  if (!Array.isArray(value)) return 'must be an array';
  for (const [index, line] of value.entries()) {
    if (!isRecord(line) || typeof line.text !== 'string') return `[${index}].text: must be a string`;
    if (line.stream !== undefined && line.stream !== 'stdout' && line.stream !== 'stderr') {
      return `[${index}].stream: must be stdout or stderr`;
    }
    if (line.atMs !== undefined && typeof line.atMs !== 'number') return `[${index}].atMs: must be a number`;
  }
  return undefined;
}

function execProblem(value: unknown): string | undefined {
  if (!isRecord(value)) return 'must be an object whose keys are command lines';
  for (const [command, result] of Object.entries(value)) {
    if (!isRecord(result)) return `${JSON.stringify(command)}: must be an object`;
    for (const [field, given] of Object.entries(result)) {
      const type = { stdout: 'string', stderr: 'string', exitCode: 'number', durationMs: 'number' }[field];
      if (type === undefined) return `${JSON.stringify(command)}.${field}: unknown field`;
      if (typeof given !== type) return `${JSON.stringify(command)}.${field}: must be a ${type}`;
    }
  }
  return undefined;
}

function portsProblem(value: unknown): string | undefined {
  if (!isRecord(value)) return 'must be an object whose keys are ports';
  for (const [port, does] of Object.entries(value)) {
    if (!/^\d{1,5}$/.test(port) || Number(port) < 1 || Number(port) > 65_535)
      return `${JSON.stringify(port)}: must be a port number`;
    const isReply = isRecord(does) && typeof does.reply === 'string' && Object.keys(does).length === 1;
    if (does !== 'echo' && !isReply) return `${JSON.stringify(port)}: must be "echo" or { reply }`;
  }
  return undefined;
}

function isUsage(key: string, value: unknown): boolean {
  return (key === 'cpuNanoCores' || key === 'memoryBytes') && typeof value === 'number' && value >= 0;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
