import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Pod } from '@node-agent/pod-spec';
import { PAUSE_IMAGE } from '@node-agent/tools-containerd';
import { freePorts } from '@node-agent/tools-ports';

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
const WAIT_MS = 60_000;

/** A manifest, as much of it as tests write. */
export interface Manifest {
  readonly name: string;
  readonly spec: object;
}

/** A container of {@link PAUSE_IMAGE} that runs a script. */
export function script(name: string, text: string, more: object = {}): object {
  return { name, image: PAUSE_IMAGE, imagePullPolicy: 'Never', command: ['sh', '-c', text], ...more };
}

export interface TestNodeOptions {
  readonly directory: string;
  /** Where the runtime is, or will be. */
  readonly endpoint: string;
  /** Fields of the configuration beside those that every test has. */
  readonly configuration?: object;
  /** `directory/root` by default. */
  readonly rootDir?: string;
  /** Beside those that every test has. */
  readonly flags?: readonly string[];
}

/** A kubelet's process, run from its sources, with a directory of manifests. It can be killed and started again. */
export class TestNode {
  readonly manifests: string;
  readonly rootDir: string;
  readonly podLogs: string;
  readonly logFile: string;
  readonly #options: TestNodeOptions;
  #ports: readonly number[] = [];
  #child: ChildProcess | undefined;

  constructor(options: TestNodeOptions) {
    this.#options = options;
    this.manifests = join(options.directory, 'manifests');
    this.rootDir = options.rootDir ?? join(options.directory, 'root');
    this.podLogs = join(options.directory, 'logs/pods');
    this.logFile = join(options.directory, 'kubelet.log');
  }

  /** Starts the kubelet; the ports and directories are those of the last time. */
  async start(): Promise<void> {
    await mkdir(this.manifests, { recursive: true });
    if (this.#ports.length === 0) this.#ports = await freePorts(3);
    const [readOnlyPort, healthzPort, port] = this.#ports;
    const file = join(this.#options.directory, 'kubelet.json');
    const configuration = {
      apiVersion: 'kubelet.config.k8s.io/v1beta1',
      kind: 'KubeletConfiguration',
      containerRuntimeEndpoint: this.#options.endpoint,
      staticPodPath: this.manifests,
      podLogsDir: this.podLogs,
      readOnlyPort,
      healthzPort,
      port,
      failSwapOn: false,
      failCgroupV1: false,
      cgroupsPerQOS: false,
      enforceNodeAllocatable: [],
      ...this.#options.configuration,
    };
    await writeFile(file, JSON.stringify(configuration));
    const log = openSync(this.logFile, 'a');
    const flags = ['--conditions=@node-agent/source', '--disable-warning=ExperimentalWarning', MAIN];
    const args = [...flags, `--config=${file}`, `--root-dir=${this.rootDir}`, '--hostname-override=e2e'];
    args.push(...(this.#options.flags ?? []));
    this.#child = spawn(process.execPath, args, { stdio: ['ignore', log, log] });
    closeSync(log);
  }

  /** Of the secured server. */
  get port(): number {
    return this.#ports[2] ?? 0;
  }

  /** Of the process that runs. */
  get pid(): number {
    return this.#child?.pid ?? 0;
  }

  get isRunning(): boolean {
    return this.#child?.exitCode === null && this.#child.signalCode === null;
  }

  /** The most memory that the process has had so far. */
  async peakRssBytes(): Promise<number> {
    const status = await readFile(`/proc/${this.#child?.pid}/status`, 'utf8');
    return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024;
  }

  /** Ends the process, and waits for that. @throws Error where it did not end by itself, with what it said of that */
  async kill(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    const child = this.#child;
    if (child === undefined || !this.isRunning) return;
    const ended = new Promise((resolve) => child.on('exit', resolve));
    child.kill(signal);
    await ended;
    const late = /^.*Shutdown timed out.*$/m.exec(await readFile(this.logFile, 'utf8'));
    if (late !== null) throw new Error(late[0]);
  }

  /** Writes a manifest as a whole, as an editor does. */
  async write({ name, spec }: Manifest): Promise<void> {
    const pod = { dnsPolicy: 'Default', terminationGracePeriodSeconds: 1, ...spec };
    await this.writeText(name, JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec: pod }));
  }

  async writeText(name: string, text: string): Promise<void> {
    const draft = join(this.#options.directory, `${name}.draft`);
    await writeFile(draft, text);
    await rename(draft, this.#manifest(name));
  }

  /** Removes a manifest and waits until the pod is gone from what the kubelet serves. */
  async remove(name: string): Promise<void> {
    await rm(this.#manifest(name), { force: true });
    await this.until(`${name} to be gone`, async () => ((await this.pod(name)) === undefined ? true : undefined));
  }

  async pods(): Promise<readonly Pod[]> {
    const answer = await this.#get('/pods');
    return ((await answer.json()) as { items: readonly Pod[] }).items;
  }

  async pod(name: string): Promise<Pod | undefined> {
    return (await this.pods()).find(({ metadata }) => metadata.name === `${name}-e2e`);
  }

  /** Waits until a pod is as wanted. @throws Error with the pod as it is, and the end of the log */
  async podUntil(name: string, wanted: (pod: Pod) => boolean): Promise<Pod> {
    return this.until(`pod ${name}`, async () => {
      const pod = await this.pod(name);
      return pod !== undefined && wanted(pod) ? pod : undefined;
    });
  }

  async running(name: string): Promise<Pod> {
    return this.podUntil(name, ({ spec, status }) => {
      const statuses = status?.containerStatuses ?? [];
      return statuses.length === spec.containers.length && statuses.every(({ ready }) => ready);
    });
  }

  /** The events of a pod, as the node remembers them. */
  async events(name: string): Promise<readonly { readonly reason: string; readonly message: string }[]> {
    const answer = await this.#get(`/explain/pod/default/${name}-e2e`);
    return ((await answer.json()) as { events: readonly { reason: string; message: string }[] }).events;
  }

  /** A page of the read-only server. @throws Error where it is not answered by 200 */
  async page(path: string): Promise<string> {
    const answer = await this.#get(path);
    const text = await answer.text();
    if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${text}`);
    return text;
  }

  /** What `/healthz?verbose` says; `undefined` where nobody answers. */
  async health(): Promise<{ readonly ok: boolean; readonly text: string } | undefined> {
    const answer = await fetch(`http://127.0.0.1:${this.#ports[1]}/healthz?verbose`).catch(() => undefined);
    return answer && { ok: answer.ok, text: await answer.text() };
  }

  /** Asks until there is an answer; a kubelet that does not answer yet has none. */
  async until<T>(what: string, ask: () => Promise<T | undefined>, waitMs: number = WAIT_MS): Promise<T> {
    const end = performance.now() + waitMs;
    let problem: unknown;
    for (;;) {
      try {
        const answer = await ask();
        if (answer !== undefined) return answer;
        problem = undefined;
      } catch (error) {
        problem = error;
      }
      if (performance.now() > end) break;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    const log = (await readFile(this.logFile, 'utf8').catch(() => '')).split('\n').slice(-25).join('\n');
    const pods = await this.pods().catch(() => []);
    const states = pods.map(({ metadata, status }) => `${metadata.name} ${JSON.stringify(status)}`).join('\n');
    throw new Error(`waited in vain for ${what}\n${states}\n${log}`, { cause: problem });
  }

  #manifest(name: string): string {
    return join(this.manifests, `${name}.json`);
  }

  #get(path: string): Promise<Response> {
    return fetch(`http://127.0.0.1:${this.#ports[0]}${path}`);
  }
}

/** The id of a pod's container as the runtime has it. */
export function containerId(pod: Pod, name?: string): string {
  const statuses = pod.status?.containerStatuses ?? [];
  const status = name === undefined ? statuses[0] : statuses.find((candidate) => candidate.name === name);
  return (status?.containerID ?? '').replace(/^.*:\/\//, '');
}
