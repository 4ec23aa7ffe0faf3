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

/** Needs of the suite: the runtime under test and access to the machine on which the runtime runs. */
export interface ComplianceOptions {
  /** Connects to both services of the runtime. */
  readonly connect: () => Promise<RuntimeService & ImageService>;
  /** A local image with `sh`, `sleep`, `cat`, `id` and `hostname` in `/bin`: busybox. */
  readonly image: string;
  /** A local image with different content that the suite may remove. If absent, the cases that need it are skipped. */
  readonly removableImage?: string;
  /** An empty directory on the runtime's machine, for logs and mounts. */
  readonly workDir: string;
  /** File system of the runtime's machine. */
  readonly fs: Pick<FileSystem, 'mkdir' | 'readFile' | 'writeFile' | 'rename' | 'exists'>;
  /** Waits for `ms` milliseconds of the runtime's time. */
  readonly wait: (ms: number) => Promise<void>;
  /**
   * Whether the URLs of Exec, Attach and PortForward are reachable from the test. If false, the cases that need them
   * are skipped. Default: true.
   */
  readonly streams?: boolean;
  /** Returns the time of the runtime's clock, in milliseconds. */
  readonly now: () => number;
  /** The parent cgroup of sandboxes. Default: the runtime's default. */
  readonly cgroupParent?: string;
}

/** The part of the test runner's context that a case uses. */
export interface CaseContext {
  /** Ends the case as skipped with this reason. Must throw. */
  skip(reason: string): never;
}

/** One case of the compliance suite. */
export interface ComplianceCase {
  readonly name: string;
  /** Rejects if the runtime does not comply. */
  run(context: CaseContext): Promise<void>;
}

/** Name of a compliance case, and the function that checks the runtime. */
export type Examination = readonly [name: string, examine: (scene: Scene) => Promise<void>];

/** A sandbox created by a case. */
export interface MadeSandbox {
  readonly id: string;
  readonly config: Init<PodSandboxConfig>;
  readonly logDirectory: string;
}

const POLL_MS = 20;
const PATIENCE_MS = 15_000;

/** Helpers of a case. Records the created sandboxes for later removal. */
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

  /** Removes every sandbox that the case created, with its containers. */
  async clear(): Promise<void> {
    for (const podSandboxId of this.#sandboxes) await this.cri.removePodSandbox({ podSandboxId });
  }

  /** Returns a configuration of a pod that no other case uses. */
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

  /** Runs a sandbox with a network of its own, unless `overrides` changes that. */
  async sandbox(overrides: Init<PodSandboxConfig> = {}): Promise<MadeSandbox> {
    return this.runSandbox(await this.sandboxConfig(overrides));
  }

  async runSandbox(config: Init<PodSandboxConfig>): Promise<MadeSandbox> {
    const { podSandboxId } = await this.cri.runPodSandbox({ config });
    this.#sandboxes.push(podSandboxId);
    return { id: podSandboxId, config, logDirectory: config.logDirectory ?? '' };
  }

  /** Runs a sandbox on the host network, which is faster because no network must be set up. */
  async hostSandbox(
    overrides: Init<PodSandboxConfig> = {},
    pid: NamespaceMode = NamespaceMode.CONTAINER,
  ): Promise<MadeSandbox> {
    // A sandbox on the host network must not have its own host name.
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

  /**
   * Creates a container.
   * @returns its id
   */
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

  /**
   * Creates and starts a container.
   * @returns its id
   */
  async started(
    sandbox: MadeSandbox,
    command: readonly string[],
    overrides: Init<ContainerConfig> = {},
  ): Promise<string> {
    const containerId = await this.created(sandbox, command, overrides);
    await this.cri.startContainer({ containerId });
    return containerId;
  }

  /** Starts a container that runs a script in `sh`. */
  shell(sandbox: MadeSandbox, script: string, overrides: Init<ContainerConfig> = {}): Promise<string> {
    return this.started(sandbox, ['sh', '-c', script], overrides);
  }

  async status(containerId: string): Promise<ContainerStatus> {
    const { status } = await this.cri.containerStatus({ containerId });
    assert.ok(status, 'ContainerStatus must return a status');
    return status;
  }

  async sandboxStatus(podSandboxId: string): Promise<PodSandboxStatus> {
    const { status } = await this.cri.podSandboxStatus({ podSandboxId });
    assert.ok(status, 'PodSandboxStatus must return a status');
    return status;
  }

  /** Waits until a container has exited, and returns its status. */
  async exited(containerId: string): Promise<ContainerStatus> {
    return this.eventually('the container exits', async () => {
      const status = await this.status(containerId);
      return status.state === ContainerState.CONTAINER_EXITED ? status : undefined;
    });
  }

  /** Runs a script to its end in a new container, and returns the container's status. */
  async ran(sandbox: MadeSandbox, script: string, overrides: Init<ContainerConfig> = {}): Promise<ContainerStatus> {
    return this.exited(await this.shell(sandbox, script, overrides));
  }

  /** Calls `ask` repeatedly until its result is not `undefined`. */
  async eventually<T>(what: string, ask: () => Promise<T | undefined>): Promise<T> {
    for (let waited = 0; waited < PATIENCE_MS; waited += POLL_MS) {
      const answer = await ask();
      if (answer !== undefined) return answer;
      await this.options.wait(POLL_MS);
    }
    throw new assert.AssertionError({ message: `waited ${PATIENCE_MS} ms in vain until ${what}` });
  }

  /** Reads a container's log as lines. */
  async log(path: string): Promise<LoggedLine[]> {
    return parseLog(new TextDecoder().decode(await this.options.fs.readFile(path)));
  }

  /** Returns the complete text that a container printed to one stream. */
  async output(status: ContainerStatus, stream: 'stdout' | 'stderr' = 'stdout'): Promise<string> {
    const lines = await this.log(status.logPath);
    return lines
      .filter((line) => line.stream === stream)
      .map((line) => line.content + (line.tag === 'F' ? '\n' : ''))
      .join('');
  }

  /** Returns the result of a call. Skips the case if the runtime does not implement the RPC. */
  async supported<T>(rpc: string, call: () => Promise<T>): Promise<T> {
    try {
      return await call();
    } catch (error) {
      if (CriError.is(error) && error.code === 'UNIMPLEMENTED') this.skip(`the runtime does not implement ${rpc}`);
      throw error;
    }
  }

  /** Returns every message of a stream. Skips the case if the runtime does not implement the RPC. */
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
      assert.notEqual(time, '', `must be a line of a CRI log: ${JSON.stringify(line)}`);
      return { time, stream, tag, content };
    });
}

/** Asserts that the call fails with one of the expected codes and a matching message. */
export async function refused(
  call: Promise<unknown>,
  expected: { readonly code?: CriErrorCode | readonly CriErrorCode[]; readonly words?: RegExp } = {},
): Promise<void> {
  const outcome = await call.then(
    () => undefined,
    (error: unknown) => CriError.from(error),
  );
  assert.ok(outcome, 'expected the call to be rejected, but it succeeded');
  const { code, words } = expected;
  if (code !== undefined) {
    assert.ok([code].flat().includes(outcome.code), `want ${[code].flat().join(' or ')}, got ${outcome.message}`);
  }
  if (words !== undefined) assert.match(outcome.details, words);
}
