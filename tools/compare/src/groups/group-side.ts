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
  /** Its node, and the group that its groups are in: a word. */
  readonly name: string;
  /** The kubelet; one that ends in `.js` is run by Node. */
  readonly program: string;
  readonly binaries: ContainerdBinaries;
  readonly subnet: string;
  readonly driver: CgroupDriver;
  /** Needed for the driver systemd. */
  readonly systemd?: DbusSystemd;
  /** A directory for all that it has. */
  readonly directory: string;
  /** Fields of the kubelet's configuration beside those that each side has. */
  readonly configuration?: Readonly<Record<string, unknown>>;
  /** A machine that is emulated takes minutes where another takes seconds. */
  readonly timeoutMs?: number;
  /** How often it is looked how far things are, in milliseconds; 250 by default. A look takes from such a machine what it looks at. */
  readonly everyMs?: number;
}

const ONLINE_CPUS = '/sys/devices/system/cpu/online';

/** A kubelet without a cluster, with a runtime, a directory of manifests and a root of groups of its own. */
export class GroupSide {
  readonly #options: GroupSideOptions;
  readonly #runtime: Containerd;
  readonly #kubelet: ClusterKubelet;
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
      // A slice that has no CPUs of its own loses their controller when systemd thinks of it again.
      const cpus = manager.version === 2 ? { cpus: (await readFile(ONLINE_CPUS, 'utf8')).trim() } : {};
      await manager.create([name], cpus);
      const [readOnlyPort = 0] = await freePorts(1);
      const kubelet = new ClusterKubelet({
        ...{ program, nodeName: name, endpoint: runtime.endpoint, directory: join(directory, 'k') },
        cgroupRoot: `/${name}`,
        configuration: {
          ...{ cgroupDriver: driver, readOnlyPort, staticPodPath: join(directory, 'manifests') },
          ...{ fileCheckFrequency: '1s', syncFrequency: '10s', podPidsLimit: 200 },
          ...{ systemReserved: { memory: '300Mi', cpu: '100m', pid: '500' } },
          ...options.configuration,
        },
      });
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

  /** The path of the group that holds all of its groups. */
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

  /** The pods that the kubelet tells; none while it does not answer. */
  async pods(): Promise<readonly Pod[]> {
    const answer = await fetch(`http://127.0.0.1:${this.#readOnlyPort}/pods`).catch(() => undefined);
    if (answer?.ok !== true) return [];
    // The Go kubelet tells `null` where there are none.
    return ((await answer.json()) as { readonly items: readonly Pod[] | null }).items ?? [];
  }

  /** A page of the kubelet's read-only server. @throws Error where it is not answered by 200 */
  async page(path: string): Promise<string> {
    const answer = await fetch(`http://127.0.0.1:${this.#readOnlyPort}${path}`);
    const text = await answer.text();
    if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${text}`);
    return text;
  }

  async pod(name: string): Promise<Pod | undefined> {
    return (await this.pods()).find(({ metadata }) => metadata.name === `${name}-${this.#options.name}`);
  }

  /** Waits until these pods run whole. */
  async running(names: readonly string[], signal: AbortSignal): Promise<void> {
    const areRunning = async (): Promise<boolean> => {
      // Throws where the kubelet has ended.
      await this.#kubelet.usage();
      const pods = await this.pods();
      return names.every((name) => {
        const pod = pods.find(({ metadata }) => metadata.name === `${name}-${this.#options.name}`);
        const statuses = pod?.status?.containerStatuses ?? [];
        return statuses.length > 0 && statuses.length === pod?.spec.containers.length && statuses.every(isReady);
      });
    };
    await this.#until(`${this.#options.name}: ${names.join(', ')}`, areRunning, signal);
  }

  /** Waits until the kubelet tells no pod, and no pod has a group. */
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
    await this.#until(`${this.#options.name}: no groups of pods`, isEmpty, signal);
  }

  /** Its groups, file by file, with the names that both sides have. */
  async groups(): Promise<Groups> {
    const hierarchy = await readHierarchy(nodeFileSystem);
    const mounts = hierarchy.version === 1 ? hierarchy.mounts : new Map([['', hierarchy.mount]]);
    return readGroups(mounts, this.root, await this.names());
  }

  async names(): Promise<ReadonlyMap<string, string>> {
    const { name } = this.#options;
    // The part of systemd's names that says whose they are.
    return new Map([...groupNames(await this.pods(), name), [`${name}-kubepods`, '<side>-kubepods']]);
  }

  /** Takes all away: pods that are left are killed in their groups. */
  async stop(): Promise<void> {
    await this.#kubelet.stop();
    await this.#runtime.stop();
    await this.#manager.destroy([this.#options.name], AbortSignal.timeout(60_000));
  }

  async #until(what: string, isSo: () => Promise<boolean>, signal: AbortSignal): Promise<void> {
    const { timeoutMs = 120_000, everyMs = 250 } = this.#options;
    try {
      await until(what, isSo, signal, { everyMs, timeoutMs });
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

function isReady({ ready }: { readonly ready: boolean }): boolean {
  return ready;
}
