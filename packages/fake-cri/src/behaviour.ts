import type { ContainerConfig, PodSandboxConfig } from '@node-agent/cri-client';
import type { PortService, Program } from './process/process.ts';

/** A line that a scripted container prints. */
export interface ScriptedOutput {
  /** When, counted from the container's start, in milliseconds; 0 by default. */
  readonly atMs?: number;
  /** `stdout` by default. */
  readonly stream?: 'stdout' | 'stderr';
  /** What is printed; a newline is not added. */
  readonly text: string;
}

/** What a command run in a scripted container gives. */
export interface ExecResult {
  readonly stdout?: string;
  readonly stderr?: string;
  /** 0 by default. */
  readonly exitCode?: number;
  /** How long it runs, in milliseconds; 0 by default. */
  readonly durationMs?: number;
}

/** What a port of a scripted container does: says what it hears, or says `reply` to whoever has said something, or what a function does. */
export type PortBehaviour = 'echo' | { readonly reply: string } | PortService;

/** What a container does. Everything may be left out: such a container runs until it is told to stop. */
export interface Behaviour {
  /** How long StartContainer takes, in milliseconds, beyond the runtime's own latency. */
  readonly startDelayMs?: number;
  /** StartContainer fails with this message; the container is then exited, 128, StartError. */
  readonly startError?: string;
  /** Exits by itself, this many milliseconds after its start; never where absent. */
  readonly exitAfterMs?: number;
  /** The exit code of that; 0 by default. */
  readonly exitCode?: number;
  /** That exit is the kernel's doing: code 137, reason OOMKilled. */
  readonly oomKilled?: boolean;
  readonly output?: readonly ScriptedOutput[];
  /** SIGTERM does nothing. */
  readonly ignoreTerm?: boolean;
  /** How long it goes on after SIGTERM, in milliseconds. */
  readonly stopDelayMs?: number;
  /** What it exits with after SIGTERM; 143 by default. */
  readonly termExitCode?: number;
  /** How long it lives on after SIGKILL, in milliseconds, as a process in uninterruptible sleep does. */
  readonly killDelayMs?: number;
  /** Answers of commands run in it: a function of the command, or by the command line joined with spaces. */
  readonly exec?: Readonly<Record<string, ExecResult>> | ((command: readonly string[]) => ExecResult | undefined);
  /** The ports that it serves in its pod's network, by number; another that serves one of them ends with 1. */
  readonly ports?: Readonly<Record<string, PortBehaviour>>;
  /** What stats show while it runs. */
  readonly usage?: { readonly cpuNanoCores?: number; readonly memoryBytes?: number };
  /** The whole program, in place of all that is scripted above about its running. */
  readonly program?: Program;
}

/** A container, as a {@link Script} sees it when it is about to start. */
export interface ScriptedContainer {
  readonly id: string;
  /** The container's name in its pod. */
  readonly name: string;
  readonly attempt: number;
  /** The image as it was asked for. */
  readonly image: string;
  /** Command and arguments, the image's own where the container has none. */
  readonly command: readonly string[];
  readonly config: ContainerConfig;
  readonly sandboxConfig: PodSandboxConfig;
}

/** Decides what a container does; `undefined` leaves it to its annotation, its image and its command. */
export type Script = (container: ScriptedContainer) => Behaviour | undefined;

/** The annotation of a pod or container whose value is a {@link Behaviour} in JSON; the container's own goes first. */
export const BEHAVIOUR_ANNOTATION = 'fake-cri.node-agent.dev/behaviour';

const NUMBERS = ['startDelayMs', 'exitAfterMs', 'exitCode', 'stopDelayMs', 'termExitCode', 'killDelayMs'];
const BOOLEANS = ['oomKilled', 'ignoreTerm'];

/**
 * Reads a {@link Behaviour} from the JSON of {@link BEHAVIOUR_ANNOTATION}; functions cannot be given so.
 * @throws TypeError that names the field which is wrong
 */
export function parseBehaviour(json: string): Behaviour {
  const where = `annotation ${BEHAVIOUR_ANNOTATION}`;
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch (cause) {
    throw new TypeError(`${where}: not JSON`, { cause });
  }
  if (!isRecord(value)) throw new TypeError(`${where}: expected an object`);
  for (const [field, given] of Object.entries(value)) {
    const problem = fieldProblem(field, given);
    if (problem !== undefined) throw new TypeError(`${where}: ${field}: ${problem}`);
  }
  return value;
}

function fieldProblem(field: string, value: unknown): string | undefined {
  if (NUMBERS.includes(field)) {
    return typeof value === 'number' && Number.isInteger(value) && value >= 0 ? undefined : 'expected a whole number';
  }
  if (BOOLEANS.includes(field)) return typeof value === 'boolean' ? undefined : 'expected true or false';
  if (field === 'startError') return typeof value === 'string' ? undefined : 'expected a string';
  if (field === 'output') return outputProblem(value);
  if (field === 'exec') return execProblem(value);
  if (field === 'ports') return portsProblem(value);
  if (field === 'usage') {
    return isRecord(value) && Object.entries(value).every(([key, n]) => isUsage(key, n))
      ? undefined
      : 'expected { cpuNanoCores, memoryBytes }';
  }
  return 'unknown field';
}

function outputProblem(value: unknown): string | undefined {
  if (!Array.isArray(value)) return 'expected an array';
  for (const [index, line] of value.entries()) {
    if (!isRecord(line) || typeof line.text !== 'string') return `[${index}].text: expected a string`;
    if (line.stream !== undefined && line.stream !== 'stdout' && line.stream !== 'stderr') {
      return `[${index}].stream: expected stdout or stderr`;
    }
    if (line.atMs !== undefined && typeof line.atMs !== 'number') return `[${index}].atMs: expected a number`;
  }
  return undefined;
}

function execProblem(value: unknown): string | undefined {
  if (!isRecord(value)) return 'expected an object of command lines';
  for (const [command, result] of Object.entries(value)) {
    if (!isRecord(result)) return `${JSON.stringify(command)}: expected an object`;
    for (const [field, given] of Object.entries(result)) {
      const type = { stdout: 'string', stderr: 'string', exitCode: 'number', durationMs: 'number' }[field];
      if (type === undefined) return `${JSON.stringify(command)}.${field}: unknown field`;
      if (typeof given !== type) return `${JSON.stringify(command)}.${field}: expected a ${type}`;
    }
  }
  return undefined;
}

function portsProblem(value: unknown): string | undefined {
  if (!isRecord(value)) return 'expected an object of ports';
  for (const [port, does] of Object.entries(value)) {
    if (!/^\d{1,5}$/.test(port) || Number(port) < 1 || Number(port) > 65_535)
      return `${JSON.stringify(port)}: not a port`;
    const isReply = isRecord(does) && typeof does.reply === 'string' && Object.keys(does).length === 1;
    if (does !== 'echo' && !isReply) return `${JSON.stringify(port)}: expected "echo" or { reply }`;
  }
  return undefined;
}

function isUsage(key: string, value: unknown): boolean {
  return (key === 'cpuNanoCores' || key === 'memoryBytes') && typeof value === 'number' && value >= 0;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
