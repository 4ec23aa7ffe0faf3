import assert from 'node:assert/strict';
import {
  type ContainerConfig,
  ContainerState,
  type ContainerStatus,
  CriError,
  type CriErrorCode,
  type ImageService,
  type Init,
  NamespaceMode,
  type PodSandboxConfig,
  type PodSandboxStatus,
  type RuntimeService,
} from '@node-agent/cri-client';
import type { FileSystem } from '@node-agent/host';

/** What the suite needs of the runtime that it examines, and of the machine that this runs on. */
export interface ComplianceOptions {
  /** Both services of the runtime. */
  readonly connect: () => Promise<RuntimeService & ImageService>;
  /** A local image that has `sh`, `sleep`, `cat`, `id`, `hostname` in `/bin`: busybox. */
  readonly image: string;
  /** A local image of another content that the suite may remove; its cases are skipped where absent. */
  readonly removableImage?: string;
  /** An empty directory on the runtime's machine, for logs and mounts. */
  readonly workDir: string;
  /** The files of the runtime's machine. */
  readonly fs: Pick<FileSystem, 'mkdir' | 'readFile' | 'writeFile' | 'rename' | 'exists'>;
  /** Lets `ms` milliseconds of the runtime's time pass. */
  readonly wait: (ms: number) => Promise<void>;
  /** Whether the URLs of Exec, Attach and PortForward can be reached from here; their cases are skipped where not. True by default. */
  readonly streams?: boolean;
  /** The runtime's clock, in milliseconds. */
  readonly now: () => number;
  /** The cgroup below which sandboxes go; the runtime's default where absent. */
  readonly cgroupParent?: string;
}

/** What a case gets from the test runner. */
export interface CaseContext {
  /** Ends the case as skipped, with the reason; must throw. */
  skip(reason: string): never;
}

/** One examination. */
export interface ComplianceCase {
  readonly name: string;
  /** Rejects where the runtime does not comply. */
  run(context: CaseContext): Promise<void>;
}

/** An examination, given a scene. */
export type Examination = readonly [name: string, examine: (scene: Scene) => Promise<void>];

/** A sandbox that a case made. */
export interface MadeSandbox {
  readonly id: string;
  readonly config: Init<PodSandboxConfig>;
  readonly logDirectory: string;
}

const POLL_MS = 20;
const PATIENCE_MS = 15_000;

/** What a case works with; it takes away what was made. */
export class Scene {
  readonly options: ComplianceOptions;
  readonly cri: RuntimeService & ImageService;
  readonly skip: (reason: string) => never;
  readonly #name: string;
  readonly #sandboxes: string[] = [];
  #made = 0;

  constructor(options: ComplianceOptions, cri: RuntimeService & ImageService, name: string, context: CaseContext) {
    this.options = options;
    this.cri = cri;
    this.#name = name;
    this.skip = (reason) => context.skip(reason);
  }

  /** Every sandbox that the case made, and what is in it, is removed. */
  async clear(): Promise<void> {
    for (const podSandboxId of this.#sandboxes) await this.cri.removePodSandbox({ podSandboxId });
  }

  /** A configuration of a pod that no other case has. */
  async sandboxConfig(overrides: Init<PodSandboxConfig> = {}): Promise<Init<PodSandboxConfig>> {
    const uid = `${this.#name}-${++this.#made}`;
    const logDirectory = `${this.options.workDir}/${uid}`;
    await this.options.fs.mkdir(logDirectory);
    const { cgroupParent } = this.options;
    return {
      metadata: { name: 'pod', namespace: 'compliance', uid, attempt: 0 },
      hostname: 'compliance-host',
      logDirectory,
      labels: { 'compliance/case': this.#name },
      linux: { ...(cgroupParent === undefined ? {} : { cgroupParent }) },
      ...overrides,
    };
  }

  /** Runs a sandbox. */
  async sandbox(overrides: Init<PodSandboxConfig> = {}): Promise<MadeSandbox> {
    return this.runSandbox(await this.sandboxConfig(overrides));
  }

  async runSandbox(config: Init<PodSandboxConfig>): Promise<MadeSandbox> {
    const { podSandboxId } = await this.cri.runPodSandbox({ config });
    this.#sandboxes.push(podSandboxId);
    return { id: podSandboxId, config, logDirectory: config.logDirectory ?? '' };
  }

  /** Runs a sandbox on the host's network, which needs no time for a network of its own. */
  async hostSandbox(
    overrides: Init<PodSandboxConfig> = {},
    pid: NamespaceMode = NamespaceMode.CONTAINER,
  ): Promise<MadeSandbox> {
    // Where the host's network is, there is the host's name: another one is refused.
    const config = await this.sandboxConfig({ hostname: '', ...overrides });
    const namespaceOptions = { network: NamespaceMode.NODE, pid };
    return this.runSandbox({ ...config, linux: { ...config.linux, securityContext: { namespaceOptions } } });
  }

  containerConfig(command: readonly string[], overrides: Init<ContainerConfig> = {}): Init<ContainerConfig> {
    const name = `c${++this.#made}`;
    return {
      metadata: { name, attempt: 0 },
      image: { image: this.options.image },
      command,
      logPath: `${name}.log`,
      linux: { securityContext: { namespaceOptions: { pid: NamespaceMode.CONTAINER } } },
      ...overrides,
    };
  }

  /** Creates a container. */
  async created(
    sandbox: MadeSandbox,
    command: readonly string[],
    overrides: Init<ContainerConfig> = {},
  ): Promise<string> {
    const config = this.containerConfig(command, overrides);
    const { containerId } = await this.cri.createContainer({
      podSandboxId: sandbox.id,
      config,
      sandboxConfig: sandbox.config,
    });
    return containerId;
  }

  /** Creates and starts a container. */
  async started(
    sandbox: MadeSandbox,
    command: readonly string[],
    overrides: Init<ContainerConfig> = {},
  ): Promise<string> {
    const containerId = await this.created(sandbox, command, overrides);
    await this.cri.startContainer({ containerId });
    return containerId;
  }

  /** A container that runs a script in `sh`. */
  shell(sandbox: MadeSandbox, script: string, overrides: Init<ContainerConfig> = {}): Promise<string> {
    return this.started(sandbox, ['sh', '-c', script], overrides);
  }

  async status(containerId: string): Promise<ContainerStatus> {
    const { status } = await this.cri.containerStatus({ containerId });
    assert.ok(status, 'ContainerStatus answers with a status');
    return status;
  }

  async sandboxStatus(podSandboxId: string): Promise<PodSandboxStatus> {
    const { status } = await this.cri.podSandboxStatus({ podSandboxId });
    assert.ok(status, 'PodSandboxStatus answers with a status');
    return status;
  }

  /** Waits for a container's end. */
  async exited(containerId: string): Promise<ContainerStatus> {
    return this.eventually('the container exits', async () => {
      const status = await this.status(containerId);
      return status.state === ContainerState.CONTAINER_EXITED ? status : undefined;
    });
  }

  /** Runs a script to its end in a container of its own. */
  async ran(sandbox: MadeSandbox, script: string, overrides: Init<ContainerConfig> = {}): Promise<ContainerStatus> {
    return this.exited(await this.shell(sandbox, script, overrides));
  }

  /** Asks until there is an answer. */
  async eventually<T>(what: string, ask: () => Promise<T | undefined>): Promise<T> {
    for (let waited = 0; waited < PATIENCE_MS; waited += POLL_MS) {
      const answer = await ask();
      if (answer !== undefined) return answer;
      await this.options.wait(POLL_MS);
    }
    throw new assert.AssertionError({ message: `waited ${PATIENCE_MS} ms in vain until ${what}` });
  }

  /** The log of a container, as lines. */
  async log(path: string): Promise<LoggedLine[]> {
    return parseLog(new TextDecoder().decode(await this.options.fs.readFile(path)));
  }

  /** What a container printed to one stream, put together again. */
  async output(status: ContainerStatus, stream: 'stdout' | 'stderr' = 'stdout'): Promise<string> {
    const lines = await this.log(status.logPath);
    return lines
      .filter((line) => line.stream === stream)
      .map((line) => line.content + (line.tag === 'F' ? '\n' : ''))
      .join('');
  }

  /** What a call answers; skips the case where the runtime does not have the RPC. */
  async supported<T>(rpc: string, call: () => Promise<T>): Promise<T> {
    try {
      return await call();
    } catch (error) {
      if (CriError.is(error) && error.code === 'UNIMPLEMENTED') this.skip(`the runtime does not have ${rpc}`);
      throw error;
    }
  }

  /** Every message of a stream; skips the case where the runtime does not have the RPC. */
  collected<T>(rpc: string, stream: () => AsyncIterable<T>): Promise<T[]> {
    return this.supported(rpc, async () => {
      const messages: T[] = [];
      for await (const message of stream()) messages.push(message);
      return messages;
    });
  }
}

/** A line of a log file. */
export interface LoggedLine {
  readonly time: string;
  readonly stream: string;
  readonly tag: string;
  readonly content: string;
}

function parseLog(text: string): LoggedLine[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const [, time = '', stream = '', tag = '', content = ''] = /^(\S+) (\S+) (\S+) (.*)$/s.exec(line) ?? [];
      assert.notEqual(time, '', `not a line of a CRI log: ${JSON.stringify(line)}`);
      return { time, stream, tag, content };
    });
}

/** The call fails, with one of these codes and words. */
export async function refused(
  call: Promise<unknown>,
  expected: { readonly code?: CriErrorCode | readonly CriErrorCode[]; readonly words?: RegExp } = {},
): Promise<void> {
  const outcome = await call.then(
    () => undefined,
    (error: unknown) => CriError.from(error),
  );
  assert.ok(outcome, 'the call was to be refused, and succeeded');
  const { code, words } = expected;
  if (code !== undefined) {
    assert.ok([code].flat().includes(outcome.code), `want ${[code].flat().join(' or ')}, got ${outcome.message}`);
  }
  if (words !== undefined) assert.match(outcome.details, words);
}
