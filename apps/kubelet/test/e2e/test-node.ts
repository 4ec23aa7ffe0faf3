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

/**
 * Path of a Go kubelet that runs instead of this kubelet, to see what a test observes with it. With a Go kubelet, tests
 * of endpoints and files that only this kubelet has fail.
 */
const OTHER_KUBELET = process.env.NODE_AGENT_E2E_KUBELET;

/** Name and spec of a manifest. */
export interface Manifest {
  readonly name: string;
  readonly spec: object;
}

/** Returns a container of {@link PAUSE_IMAGE} that runs a script. */
export function script(name: string, text: string, more: object = {}): object {
  return { name, image: PAUSE_IMAGE, imagePullPolicy: 'Never', command: ['sh', '-c', text], ...more };
}

export interface TestNodeOptions {
  readonly directory: string;
  /** CRI endpoint of the runtime, which may not be running yet. */
  readonly endpoint: string;
  /** Configuration fields in addition to the default ones of all tests. */
  readonly configuration?: object;
  /** Root directory of the kubelet. Default: `directory/root`. */
  readonly rootDir?: string;
  /** Flags in addition to the default ones of all tests. */
  readonly flags?: readonly string[];
  /** Flags that only this kubelet has. Another kubelet is started without these flags. */
  readonly ownFlags?: readonly string[];
}

/**
 * Kubelet process, run from its sources, with a directory of manifests. The process can be killed and started again.
 */
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

  /**
   * Starts the kubelet with the same ports and directories each time. @param other path of a kubelet that runs instead of
   * this kubelet
   */
  async start(other: string | undefined = OTHER_KUBELET): Promise<void> {
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
      makeIPTablesUtilChains: false,
      failCgroupV1: false,
      cgroupsPerQOS: false,
      enforceNodeAllocatable: [],
      ...this.#options.configuration,
    };
    await writeFile(file, JSON.stringify(configuration));
    const log = openSync(this.logFile, 'a');
    const own = ['--conditions=@node-agent/source', '--disable-warning=ExperimentalWarning', MAIN];
    const args = [`--config=${file}`, `--root-dir=${this.rootDir}`, '--hostname-override=e2e'];
    args.push(`--cert-dir=${join(this.rootDir, 'pki')}`);
    args.push(...(this.#options.flags ?? []));
    const stdio = ['ignore', log, log] as const;
    this.#child =
      other === undefined
        ? spawn(process.execPath, [...own, ...args, ...(this.#options.ownFlags ?? [])], { stdio: [...stdio] })
        : spawn(other, args, { stdio: [...stdio] });
    closeSync(log);
  }

  /** Port of the secured server. */
  get port(): number {
    return this.#ports[2] ?? 0;
  }

  /** ID of the running process. */
  get pid(): number {
    return this.#child?.pid ?? 0;
  }

  get isRunning(): boolean {
    return this.#child?.exitCode === null && this.#child.signalCode === null;
  }

  /** Returns the peak resident memory of the process. */
  async peakRssBytes(): Promise<number> {
    const status = await readFile(`/proc/${this.#child?.pid}/status`, 'utf8');
    return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024;
  }

  /**
   * Sends a signal and waits until the process has exited. @throws Error with the log line if the shutdown timed out
   */
  async kill(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    const child = this.#child;
    if (child === undefined || !this.isRunning) return;
    const ended = new Promise((resolve) => child.on('exit', resolve));
    child.kill(signal);
    await ended;
    const late = /^.*Shutdown timed out.*$/m.exec(await readFile(this.logFile, 'utf8'));
    if (late !== null) throw new Error(late[0]);
  }

  /** Replaces a manifest as a whole, as an editor does. */
  async write({ name, spec }: Manifest): Promise<void> {
    const pod = { dnsPolicy: 'Default', terminationGracePeriodSeconds: 1, ...spec };
    await this.writeText(name, JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec: pod }));
  }

  async writeText(name: string, text: string): Promise<void> {
    const draft = join(this.#options.directory, `${name}.draft`);
    await writeFile(draft, text);
    await rename(draft, this.#manifest(name));
  }

  /** Removes a manifest and waits until the kubelet no longer serves its pod. */
  async remove(name: string): Promise<void> {
    await rm(this.#manifest(name), { force: true });
    await this.until(`${name} to be gone`, async () => ((await this.pod(name)) === undefined ? true : undefined));
  }

  async pods(): Promise<readonly Pod[]> {
    const answer = await this.#get('/pods');
    // The Go kubelet returns null for an empty list.
    return ((await answer.json()) as { items: readonly Pod[] | null }).items ?? [];
  }

  async pod(name: string): Promise<Pod | undefined> {
    return (await this.pods()).find(({ metadata }) => metadata.name === `${name}-e2e`);
  }

  /** Waits until `wanted` returns true for a pod. @throws Error with the pod and the end of the log on timeout */
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

  /** Returns the events of a pod that the node has recorded. */
  async events(name: string): Promise<readonly { readonly reason: string; readonly message: string }[]> {
    const answer = await this.#get(`/explain/pod/default/${name}-e2e`);
    return ((await answer.json()) as { events: readonly { reason: string; message: string }[] }).events;
  }

  /** Returns a page of the read-only server. @throws Error if the status is not 200 */
  async page(path: string): Promise<string> {
    const answer = await this.#get(path);
    const text = await answer.text();
    if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${text}`);
    return text;
  }

  /** Returns the output of `/healthz?verbose`, or `undefined` if the kubelet does not answer. */
  async health(): Promise<{ readonly ok: boolean; readonly text: string } | undefined> {
    const answer = await fetch(`http://127.0.0.1:${this.#ports[1]}/healthz?verbose`).catch(() => undefined);
    return answer && { ok: answer.ok, text: await answer.text() };
  }

  /** Calls `ask` until it returns a value. An error counts as no value, because the kubelet may not listen yet. */
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

/** Returns the ID of a pod's container without its runtime prefix. */
export function containerId(pod: Pod, name?: string): string {
  const statuses = pod.status?.containerStatuses ?? [];
  const status = name === undefined ? statuses[0] : statuses.find((candidate) => candidate.name === name);
  return (status?.containerID ?? '').replace(/^.*:\/\//, '');
}
