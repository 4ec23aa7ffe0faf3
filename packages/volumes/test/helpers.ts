import { basename, dirname } from 'node:path';
import { seededRandom } from '@node-agent/async';
import { FakeClock } from '@node-agent/async/testing';
import type { ForeignFiles } from '@node-agent/host';
import { MemoryFileSystem, memoryForeignFiles } from '@node-agent/host/testing';
import type { Pod, PodSpec } from '@node-agent/pod-spec';
import { type MetricOptions, type Metrics, noMetrics, type ObjectReference, silentLogger } from '@node-agent/telemetry';
import type { LoopDevices } from '../src/block/loop-devices.ts';
import type { ClaimData, ClaimSource, PersistentVolumeData } from '../src/claims/claim-source.ts';
import { LocalBlockPlugin } from '../src/claims/local-block-plugin.ts';
import type { LocalDevices } from '../src/claims/local-staging.ts';
import { LocalVolumePlugin } from '../src/claims/local-volume.ts';
import { VolumeError } from '../src/errors.ts';
import { VolumeManager } from '../src/manager/volume-manager.ts';
import type { VolumeManagerComponents, VolumeManagerOptions } from '../src/manager/volume-manager-components.ts';
import type { Mounter } from '../src/mount/mounter.ts';
import { PodPaths } from '../src/paths/pod-paths.ts';
import { projectionPlugins } from '../src/projected/projection-plugin.ts';
import type { ProjectionSources } from '../src/projected/sources.ts';
import { EmptyDirPlugin } from '../src/types/empty-dir.ts';
import { HostPathPlugin } from '../src/types/host-path.ts';
import { ImageVolumePlugin } from '../src/types/image-volume.ts';

export const ROOT = '/var/lib/kubelet';
export const EMPTY_DIRS = 'volumes/kubernetes.io~empty-dir';

/** An in-memory mount table that records the requested mount options. */
export class MemoryMounter implements Mounter, LocalDevices {
  readonly asked: string[] = [];
  /** Whether the mounting process was killed: later operations have no effect. */
  isKilled: () => boolean = () => false;
  /** The error that mounting a disk throws. */
  diskFailure: VolumeError | undefined;
  readonly #points = new Map<string, string>();
  /** Original source of each mount, by mount point. A bind mount of another mount has the source of that mount. */
  readonly #sources = new Map<string, string>();
  readonly #fs: MemoryFileSystem;

  constructor(fs: MemoryFileSystem) {
    this.#fs = fs;
  }

  async mountPoints(): Promise<ReadonlyMap<string, string>> {
    return new Map(this.#points);
  }

  async mountsOfSame(path: string): Promise<readonly string[]> {
    const shown = this.#sources.get(path);
    return [...this.#sources].filter(([, source]) => source === shown).map(([point]) => point);
  }

  /** Returns whether files on the mount at a path can have SELinux labels. */
  labelled: (path: string) => boolean = () => false;

  async takesLabels(path: string): Promise<boolean> {
    return this.labelled(path);
  }

  async mount(source: string, target: string, fsType: string, options: readonly string[]): Promise<void> {
    this.#live();
    this.asked.push(`mount ${fsType} ${options.join(',')}`);
    this.#fs.mount(target);
    this.#points.set(target, fsType);
    this.#sources.set(target, source);
  }

  async bind(source: string, target: string): Promise<void> {
    this.#live();
    this.asked.push('bind');
    if (!source.startsWith('/proc/1/fd/')) {
      await using place = await this.#place(source);
      this.#fs.bind(place.handle, target);
    } else this.#fs.bind(source, target);
    this.#points.set(target, 'bound');
    this.#sources.set(target, this.#sources.get(source) ?? source);
  }

  async formatAndMount(device: string, target: string, fsType: string, options: readonly string[]): Promise<void> {
    this.#live();
    this.asked.push(['disk', device, fsType, ...options].join(' '));
    if (this.diskFailure !== undefined) throw this.diskFailure;
    this.#fs.mount(target);
    this.#points.set(target, fsType);
    this.#sources.set(target, target);
  }

  async rebind(_source: string, target: string, options: readonly string[]): Promise<void> {
    this.#live();
    this.asked.push(`rebind ${options.join(',')}`);
    if (!this.#points.has(target)) throw new VolumeError('MountFailed', 'not mounted');
  }

  #live(): void {
    if (this.isKilled()) throw new VolumeError('MountFailed', 'killed');
  }

  async #place(path: string): Promise<AsyncDisposable & { readonly handle: string }> {
    const isDirectory = (await this.#fs.stat(path)).kind === 'directory';
    const place = await this.#fs.holdBeneath(isDirectory ? path : dirname(path), isDirectory ? '' : basename(path));
    return { handle: place.handle, [Symbol.asyncDispose]: () => place.close() };
  }

  async unmount(
    target: string,
    _signal?: AbortSignal,
    { lazy = false }: { readonly lazy?: boolean; readonly force?: boolean } = {},
  ): Promise<void> {
    this.#live();
    this.asked.push(lazy ? 'unmount lazily' : 'unmount');
    this.#sources.delete(target);
    if (!this.#points.delete(target)) throw new VolumeError('MountFailed', 'not mounted');
    this.#fs.unmount(target);
  }
}

/** The loop devices of the machine, by backing path. */
export class MemoryLoops implements LoopDevices {
  readonly devices: Map<string, string> = new Map();
  #count = 0;

  async find(path: string): Promise<string | undefined> {
    return this.devices.get(path);
  }

  async attach(path: string): Promise<void> {
    this.devices.set(path, `/dev/loop${this.#count++}`);
  }

  async detach(device: string): Promise<void> {
    for (const [path, name] of this.devices) if (name === device) this.devices.delete(path);
  }
}

export interface Fixture {
  readonly clock: FakeClock;
  readonly fs: MemoryFileSystem;
  readonly foreignFiles: ForeignFiles;
  readonly mounter: MemoryMounter;
  readonly paths: PodPaths;
  readonly loops: MemoryLoops;
  readonly events: string[];
  /** Observations of histograms: name and labels. */
  readonly durations: string[];
  /** Values of gauges, by name and labels. */
  readonly gauges: Map<string, number>;
  /** Object that each event refers to, in order. */
  readonly objects: ObjectReference[];
  readonly manager: VolumeManager;
  readonly newManager: () => VolumeManager;
  /** All paths below a pod's directory. */
  readonly under: (uid: string) => string[];
  readonly signal: AbortSignal;
}

/** Parts of a {@link Fixture} that belong to the machine and survive the kubelet. */
export type Parts = Pick<Fixture, 'clock' | 'fs' | 'foreignFiles' | 'mounter' | 'paths' | 'loops'> & {
  readonly recorder: {
    readonly event: (object: ObjectReference, type: unknown, reason: string, message: string) => void;
  };
};

/** Creates a fixture. @param more additional components of each volume manager; its `plugins` precede the others */
export function setUp(
  options: VolumeManagerOptions = {},
  sources: Partial<ProjectionSources> = {},
  claims?: ClaimSource,
  more: (fixture: Parts) => Partial<VolumeManagerComponents> = () => ({}),
): Fixture {
  const clock = new FakeClock();
  const fs = new MemoryFileSystem({ clock });
  const foreignFiles = memoryForeignFiles({ clock, fs });
  const mounter = new MemoryMounter(fs);
  const paths = new PodPaths(ROOT);
  const loops = new MemoryLoops();
  const events: string[] = [];
  const durations: string[] = [];
  const gauges = new Map<string, number>();
  const metrics: Metrics = {
    ...noMetrics,
    gauge: ({ name }: MetricOptions<string>) => ({
      set: (labels: object, value: number) => void gauges.set([name, ...Object.values(labels)].join(' '), value),
    }),
    histogram: ({ name }: MetricOptions<string>) => ({
      observe: (labels: object) => void durations.push([name, ...Object.values(labels)].join(' ')),
    }),
  };
  const objects: ObjectReference[] = [];
  const recorder = {
    event: (object: ObjectReference, _type: unknown, reason: string, message: string): void => {
      objects.push(object);
      events.push(`${reason}: ${message}`);
    },
  };
  /** A volume manager as a new kubelet process creates it. */
  const newManager = (): VolumeManager => {
    const others = more({ clock, fs, foreignFiles, mounter, paths, loops, recorder });
    return new VolumeManager(
      {
        fs,
        foreignFiles,
        mounter,
        paths,
        ...(claims && { claims }),
        ...others,
        plugins: [
          ...(others.plugins ?? []),
          new EmptyDirPlugin({ fs, mounter, paths, clock }, { allocatableMemoryBytes: 1 << 30 }),
          new HostPathPlugin({ foreignFiles }),
          new LocalVolumePlugin({ fs, foreignFiles, mounter, devices: mounter, paths, clock, recorder }),
          new LocalBlockPlugin({ fs, foreignFiles, mounter, loops, paths }),
          new ImageVolumePlugin(),
          ...projectionPlugins(
            {
              fs,
              mounter,
              paths,
              clock,
              random: seededRandom(1),
              sources: { nodeAllocatable: () => ({ cpu: '4' }), ...sources },
            },
            { allocatableMemoryBytes: 1 << 30 },
          ),
        ],
        clock,
        logger: silentLogger,
        metrics,
        recorder,
      },
      options,
    );
  };
  const under = (uid: string): string[] =>
    fs
      .paths()
      .filter((path) => path.startsWith(`${ROOT}/pods/${uid}/`))
      .map((path) => path.slice(`${ROOT}/pods/${uid}/`.length));
  return {
    clock,
    fs,
    foreignFiles,
    mounter,
    paths,
    loops,
    events,
    durations,
    gauges,
    objects,
    manager: newManager(),
    newManager,
    under,
    signal: new AbortController().signal,
  };
}

/** A pod with one container that mounts all volumes of the pod. */
export function podOf(volumes: PodSpec['volumes'], uid = 'u1', spec: Partial<PodSpec> = {}): Pod {
  const volumeMounts = (volumes ?? []).map(({ name }) => ({ name, mountPath: `/mnt/${name}` }));
  return {
    metadata: { uid, name: `pod-${uid}`, namespace: 'default' },
    spec: { containers: [{ name: 'main', image: 'busybox', volumeMounts }], ...(volumes && { volumes }), ...spec },
  };
}

export async function errorOf(promise: Promise<unknown>): Promise<VolumeError> {
  const error = await promise.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof VolumeError)) throw new Error(`expected a VolumeError, not ${String(error)}`);
  return error;
}

/** Claims and their bound persistent volumes, in memory. */
export class MemoryClaims implements ClaimSource {
  readonly claims: Map<string, ClaimData> = new Map();
  readonly volumes: Map<string, PersistentVolumeData> = new Map();
  labels: Record<string, string> = {};
  /** The error that each request throws. */
  failure: Error | undefined;
  /** The recorded requests. */
  readonly asked: string[] = [];

  /** A claim in the default namespace and a persistent volume that are bound to each other. */
  bind(name: string, volume: string, spec: PersistentVolumeData['spec'], claim: Partial<ClaimData> = {}): void {
    this.claims.set(`default/${name}`, {
      metadata: { name, namespace: 'default', uid: `uid-${name}` },
      spec: { volumeName: volume },
      status: { phase: 'Bound' },
      ...claim,
    });
    this.volumes.set(volume, {
      metadata: { name: volume },
      spec: { claimRef: { uid: `uid-${name}` }, volumeMode: 'Filesystem', ...spec },
    });
  }

  async getClaim(namespace: string, name: string): Promise<ClaimData | undefined> {
    this.asked.push(`claim ${namespace}/${name}`);
    if (this.failure !== undefined) throw this.failure;
    return this.claims.get(`${namespace}/${name}`);
  }

  async getPersistentVolume(name: string): Promise<PersistentVolumeData | undefined> {
    this.asked.push(`volume ${name}`);
    if (this.failure !== undefined) throw this.failure;
    return this.volumes.get(name);
  }

  /** The patches of PVC statuses. */
  readonly patches: object[] = [];
  /** Applies patches of statuses; absent if volumes are not expanded. */
  patchClaimStatus?: NonNullable<ClaimSource['patchClaimStatus']>;

  /** Lets volumes be expanded: patches are recorded and change the PVC. */
  acceptPatches(): void {
    this.patchClaimStatus = async (namespace, name, patch) => {
      this.patches.push(patch);
      const claim = this.claims.get(`${namespace}/${name}`);
      if (claim === undefined) throw new Error('not found');
      const { status = {} } = patch as { status?: object };
      const merged = { ...claim, status: { ...claim.status, ...status } };
      this.claims.set(`${namespace}/${name}`, merged);
      return merged;
    };
  }

  nodeLabels(): Readonly<Record<string, string>> {
    return this.labels;
  }
}
