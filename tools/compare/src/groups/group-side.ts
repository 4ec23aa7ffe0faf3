import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  type CgroupDriver,
  type CgroupManager,
  type DbusSystemd,
  openCgroups,
  readHierarchy,
} from '@node-agent/cm-cgroups';
import { nodeFileSystem } from '@node-agent/host';
import type { Pod } from '@node-agent/pod-spec';
import { ClusterKubelet, until } from '@node-agent/tools-bench';
import { Containerd, type ContainerdBinaries } from '@node-agent/tools-containerd';
import { freePorts } from '@node-agent/tools-ports';
import { groupNames, type ManifestPod, manifestOf } from './pods.ts';
import { type Groups, readGroups } from './read-groups.ts';

export interface GroupSideOptions {
  /** Name of the node and of the cgroup that contains the side's cgroups. */
  readonly name: string;
  /** Path of the kubelet. A file that ends in `.js` is run with Node. */
  readonly program: string;
  readonly binaries: ContainerdBinaries;
  readonly subnet: string;
  readonly driver: CgroupDriver;
  /** Connection to systemd. Required for the driver systemd. */
  readonly systemd?: DbusSystemd;
  /** Directory for all files of the side. */
  readonly directory: string;
  /** Additional kubelet configuration fields. */
  readonly configuration?: Readonly<Record<string, unknown>>;
  /** Additional command-line flags of the kubelet. */
  readonly flags?: readonly string[];
  /** Time limit of each wait, in ms. Default: 120,000. Emulated machines need minutes instead of seconds. */
  readonly timeoutMs?: number;
  /** Poll interval of each wait, in ms. Default: 250. Polling costs CPU time, which is scarce on emulated machines. */
  readonly everyMs?: number;
}

const ONLINE_CPUS = '/sys/devices/system/cpu/online';

/** Kubelet without a cluster, with its own runtime, manifest directory and cgroup root. */
export class GroupSide {
  readonly #options: GroupSideOptions;
  readonly #runtime: Containerd;
  #kubelet: ClusterKubelet;
  readonly #manager: CgroupManager;
  readonly #readOnlyPort: number;

  private constructor(
    options: GroupSideOptions,
    runtime: Containerd,
    kubelet: ClusterKubelet,
    manager: CgroupManager,
    readOnlyPort: number,
  ) {
    this.#options = options;
    this.#runtime = runtime;
    this.#kubelet = kubelet;
    this.#manager = manager;
    this.#readOnlyPort = readOnlyPort;
  }

  static async start(options: GroupSideOptions): Promise<GroupSide> {
    const { name, program, binaries, subnet, driver, systemd, directory } = options;
    await mkdir(join(directory, 'manifests'), { recursive: true });
    const components = { fs: nodeFileSystem, kill: process.kill.bind(process), ...(systemd && { systemd }) };
    const manager = await openCgroups(components, driver);
    const runtime = new Containerd({
      ...{ binaries, subnet, directory: join(directory, 'c'), systemdCgroup: driver === 'systemd' },
      ...(options.timeoutMs !== undefined && { startTimeoutMs: options.timeoutMs }),
    });
    await runtime.start();
    try {
      // The cgroup gets explicit CPUs, because a slice without them loses the cpuset controller when systemd updates
      // it.
      const cpus = manager.version === 2 ? { cpus: (await readFile(ONLINE_CPUS, 'utf8')).trim() } : {};
      await manager.create([name], cpus);
      const [readOnlyPort = 0] = await freePorts(1);
      const kubelet = kubeletOf(options, program, runtime.endpoint, readOnlyPort);
      const side = new GroupSide(options, runtime, kubelet, manager, readOnlyPort);
      await kubelet.start();
      return side;
    } catch (error) {
      await runtime.stop();
      throw error;
    }
  }

  get kubelet(): ClusterKubelet {
    return this.#kubelet;
  }

  /** Stops the kubelet and starts another program with the same files; the pods keep running. */
  async replaceKubelet(program: string): Promise<void> {
    await this.#kubelet.stop();
    this.#kubelet = kubeletOf(this.#options, program, this.#runtime.endpoint, this.#readOnlyPort);
    await this.#kubelet.start();
  }

  /** Path of the cgroup that contains all cgroups of the side. */
  get root(): string {
    return this.#manager.path([this.#options.name]);
  }

  async write(pod: ManifestPod): Promise<void> {
    const draft = join(this.#options.directory, `${pod.name}.draft`);
    await writeFile(draft, manifestOf(pod));
    await rename(draft, this.#manifest(pod.name));
  }

  async remove(name: string): Promise<void> {
    await rm(this.#manifest(name), { force: true });
  }

  /** Returns the pods that the kubelet reports; an empty list while the kubelet does not respond. */
  async pods(): Promise<readonly Pod[]> {
    const answer = await fetch(`http://127.0.0.1:${this.#readOnlyPort}/pods`).catch(() => undefined);
    if (answer?.ok !== true) return [];
    // The Go kubelet returns `null` instead of an empty list.
    return ((await answer.json()) as { readonly items: readonly Pod[] | null }).items ?? [];
  }

  /** Fetches a path from the kubelet's read-only server. @throws Error if the status is not 200 */
  async page(path: string): Promise<string> {
    const answer = await fetch(`http://127.0.0.1:${this.#readOnlyPort}${path}`);
    const text = await answer.text();
    if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${text}`);
    return text;
  }

  async pod(name: string): Promise<Pod | undefined> {
    return (await this.pods()).find(({ metadata }) => metadata.name === `${name}-${this.#options.name}`);
  }

  /** Waits until all containers of these pods are ready. */
  async running(names: readonly string[], signal: AbortSignal): Promise<void> {
    const areRunning = async (): Promise<boolean> => {
      // Throws if the kubelet has exited.
      await this.#kubelet.usage();
      const pods = await this.pods();
      return names.every((name) => {
        const pod = pods.find(({ metadata }) => metadata.name === `${name}-${this.#options.name}`);
        const statuses = pod?.status?.containerStatuses ?? [];
        return statuses.length > 0 && statuses.length === pod?.spec.containers.length && statuses.every(isReady);
      });
    };
    await this.#until(`pods ${names.join(', ')} of ${this.#options.name} are running`, areRunning, signal);
  }

  /** Waits until no pod cgroup is left. */
  async empty(signal: AbortSignal): Promise<void> {
    const isEmpty = async (): Promise<boolean> => {
      await this.#kubelet.usage();
      const left = await Promise.all(
        [[], ['burstable'], ['besteffort']].map((parts) =>
          this.#manager.children([this.#options.name, 'kubepods', ...parts]),
        ),
      );
      return !left.flat().some((part) => part.startsWith('pod'));
    };
    await this.#until(`no pod cgroups of ${this.#options.name} are left`, isEmpty, signal);
  }

  /** Reads the side's cgroup tree. Names that differ between the sides are replaced by equal names. */
  async groups(): Promise<Groups> {
    const hierarchy = await readHierarchy(nodeFileSystem);
    const mounts = hierarchy.version === 1 ? hierarchy.mounts : new Map([['', hierarchy.mount]]);
    return readGroups(mounts, this.root, await this.names());
  }

  async names(): Promise<ReadonlyMap<string, string>> {
    const { name } = this.#options;
    // Prefix of systemd slice names that depends on the side.
    return new Map([...groupNames(await this.pods(), name), [`${name}-kubepods`, '<side>-kubepods']]);
  }

  /** Stops the kubelet and the runtime, then kills the processes of remaining pods through their cgroups. */
  async stop(): Promise<void> {
    await this.#kubelet.stop();
    await this.#runtime.stop();
    await this.#manager.destroy([this.#options.name], AbortSignal.timeout(60_000));
  }

  async #until(what: string, condition: () => Promise<boolean>, signal: AbortSignal): Promise<void> {
    const { timeoutMs = 120_000, everyMs = 250 } = this.#options;
    try {
      await until(what, condition, signal, { everyMs, timeoutMs });
    } catch (error) {
      throw new Error(`${error instanceof Error ? error.message : error}\n${await this.#kubelet.logTail()}`, {
        cause: error,
      });
    }
  }

  #manifest(name: string): string {
    return join(this.#options.directory, 'manifests', `${name}.json`);
  }
}

function kubeletOf(
  { name, driver, directory, configuration, flags }: GroupSideOptions,
  program: string,
  endpoint: string,
  readOnlyPort: number,
): ClusterKubelet {
  return new ClusterKubelet({
    ...{ program, endpoint, nodeName: name, directory: join(directory, 'k'), cgroupRoot: `/${name}`, flags },
    configuration: {
      ...{ cgroupDriver: driver, readOnlyPort, staticPodPath: join(directory, 'manifests') },
      ...{ fileCheckFrequency: '1s', syncFrequency: '10s', podPidsLimit: 200 },
      ...{ systemReserved: { memory: '300Mi', cpu: '100m', pid: '500' } },
      ...configuration,
    },
  });
}

function isReady({ ready }: { readonly ready: boolean }): boolean {
  return ready;
}
