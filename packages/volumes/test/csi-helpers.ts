import type {
  CsiDriverClient,
  CsiDrivers,
  CsiExpandRequest,
  CsiFailure,
  CsiNodeCapabilities,
  CsiPublishRequest,
  CsiStageRequest,
  CsiVolumeStats,
} from '@node-agent/contracts';
import type { MemoryFileSystem } from '@node-agent/host/testing';
import type { Pod } from '@node-agent/pod-spec';
import type { CsiDriverData, CsiObjects, CsiTokens, VolumeAttachmentData } from '../src/csi/csi-objects.ts';
import { CsiPlugin } from '../src/csi/csi-plugin.ts';
import type { VolumeManagerOptions } from '../src/manager/volume-manager-components.ts';
import type { SecretData } from '../src/projected/sources.ts';
import { type Fixture, MemoryClaims, type MemoryMounter, podOf, ROOT, setUp } from './helpers.ts';

export const DRIVER = 'disk.csi.example.com';
export const NODE = 'node-1';
/** SHA-256 of the volume ID `vol-1`. */
export const STAGED: string = `${ROOT}/plugins/kubernetes.io/csi/${DRIVER}/d2e8363faaac7ae76def3b14091d8eb5755f6b92e9531627aeec833a8731cc49`;

export function csiFailure(code: string, isFinal: boolean): CsiFailure {
  return Object.assign(new Error(`rpc error: code = ${code} desc = broken`), { code, isFinal });
}

/** A CSI driver in memory: mounts and the records of the driver survive the kubelet. */
export class MemoryDriver implements CsiDriverClient {
  readonly name: string;
  can: CsiNodeCapabilities = {
    stageUnstage: true,
    volumeStats: false,
    expandVolume: false,
    volumeCondition: false,
    singleNodeMultiWriter: false,
    volumeMountGroup: false,
  };
  /** Calls that were made, in order. */
  readonly calls: string[] = [];
  readonly stages: CsiStageRequest[] = [];
  readonly publishes: CsiPublishRequest[] = [];
  readonly expansions: CsiExpandRequest[] = [];
  /** Called before each call takes effect; may throw or wait. */
  before: (call: string) => void | Promise<void> = () => {};
  /** Called after each call took effect; may throw or wait. */
  after: (call: string) => void | Promise<void> = () => {};
  stats: CsiVolumeStats = { usage: [] };
  /** Paths for which the driver was requested to report the usage. */
  readonly measured: string[] = [];
  readonly #fs: MemoryFileSystem;
  readonly #mounter: MemoryMounter;
  /** Calls in progress, by volume and path. */
  readonly #running = new Set<string>();
  /** Rules of the CSI specification that the kubelet has violated. */
  readonly faults: string[] = [];

  constructor({ fs, mounter }: Pick<Fixture, 'fs' | 'mounter'>, name: string = DRIVER) {
    this.#fs = fs;
    this.#mounter = mounter;
    this.name = name;
  }

  async capabilities(): Promise<CsiNodeCapabilities> {
    await this.before('capabilities');
    return this.can;
  }

  async stageVolume(request: CsiStageRequest): Promise<void> {
    const { volumeId, stagingTargetPath: path } = request;
    await this.#call(`stage ${volumeId}`, path, async () => {
      this.stages.push(request);
      if (request.capability.access.type === 'block') return;
      if (!(await this.#mounter.mountPoints()).has(path)) await this.#mounter.mount(volumeId, path, 'csi', []);
    });
  }

  async unstageVolume(volumeId: string, path: string): Promise<void> {
    await this.#call(`unstage ${volumeId}`, path, async () => {
      const others = (await this.#mounter.mountsOfSame(path)).filter((point) => point !== path);
      if (others.length > 0) this.faults.push(`unstaged while mounted at ${others}`);
      if ((await this.#mounter.mountPoints()).has(path)) await this.#mounter.unmount(path);
    });
  }

  async publishVolume(request: CsiPublishRequest): Promise<void> {
    const { volumeId, targetPath: path, stagingTargetPath } = request;
    await this.#call(`publish ${volumeId}`, path, async () => {
      this.publishes.push(request);
      if (request.capability.access.type === 'block') {
        if (!(await this.#fs.exists(path))) this.#fs.makeSpecial(path, 'blockDevice');
        return;
      }
      const points = await this.#mounter.mountPoints();
      if (stagingTargetPath !== undefined && !points.has(stagingTargetPath)) this.faults.push('published, not staged');
      if (points.has(path)) return;
      await this.#fs.mkdir(path);
      await this.#mounter.mount(volumeId, path, 'csi', []);
    });
  }

  async unpublishVolume(volumeId: string, path: string): Promise<void> {
    await this.#call(`unpublish ${volumeId}`, path, async () => {
      if ((await this.#mounter.mountPoints()).has(path)) await this.#mounter.unmount(path);
      if (await this.#fs.exists(path)) await this.#fs.remove(path);
    });
  }

  async expandVolume(request: CsiExpandRequest): Promise<bigint> {
    await this.#call(`expand ${request.volumeId}`, request.volumePath, async () => {
      this.expansions.push(request);
    });
    return request.requiredBytes;
  }

  async volumeStats(_volumeId: string, path: string): Promise<CsiVolumeStats> {
    this.measured.push(path);
    await this.before('stats');
    return this.stats;
  }

  async #call(call: string, path: string, work: () => Promise<void>): Promise<void> {
    this.calls.push(call);
    if (this.#running.has(path)) this.faults.push(`two calls at once at ${path}`);
    this.#running.add(path);
    try {
      await this.before(call);
      await work();
      await this.after(call);
    } finally {
      this.#running.delete(path);
    }
  }
}

/** Objects of the API server, in memory. Every VolumeAttachment exists and is attached, unless changed. */
export class MemoryCsiObjects implements CsiObjects, CsiTokens {
  readonly drivers: Map<string, CsiDriverData> = new Map();
  readonly secrets: Map<string, SecretData> = new Map();
  attachment: VolumeAttachmentData | undefined = {
    metadata: {},
    status: { attached: true, attachmentMetadata: { device: '/dev/sdx' } },
  };
  /** The error that each request throws. */
  failure: Error | undefined;
  readonly asked: string[] = [];

  async getCsiDriver(name: string): Promise<CsiDriverData | undefined> {
    if (this.failure !== undefined) throw this.failure;
    return this.drivers.get(name);
  }

  knownCsiDriver(name: string): CsiDriverData | undefined {
    return this.drivers.get(name);
  }

  async getVolumeAttachment(name: string): Promise<VolumeAttachmentData | undefined> {
    this.asked.push(`attachment ${name}`);
    if (this.failure !== undefined) throw this.failure;
    return this.attachment;
  }

  async getSecret(namespace: string, name: string): Promise<SecretData | undefined> {
    this.asked.push(`secret ${namespace}/${name}`);
    if (this.failure !== undefined) throw this.failure;
    return this.secrets.get(`${namespace}/${name}`);
  }

  async requestToken(
    { metadata }: Pod,
    { audience, expirationSeconds }: { readonly audience: string; readonly expirationSeconds?: number },
  ): Promise<{ readonly token: string; readonly expiresAtMs: number }> {
    this.asked.push(`token ${metadata.name} ${audience} ${expirationSeconds}`);
    if (this.failure !== undefined) throw this.failure;
    return { token: `token for ${audience}`, expiresAtMs: Date.parse('2030-01-02T03:04:05.678Z') };
  }
}

export interface CsiFixture extends Fixture {
  readonly claims: MemoryClaims;
  readonly driver: MemoryDriver;
  readonly registered: Map<string, CsiDriverClient>;
  readonly objects: Fixture['objects'];
  readonly api: MemoryCsiObjects;
  /** State of the node: names of the attached volumes in its status, and number of changes of the volumes in use. */
  readonly status: { attached: readonly string[] | undefined; inUseChanges: number };
  /** Requests to update a driver's volume limit (`refresh DRIVER`), and the error that they throw. */
  readonly limits: { refreshed: string[]; failure?: Error };
}

export const UNIQUE: string = `kubernetes.io/csi/${DRIVER}^vol-1`;

/** A node with one CSI driver and the claim `c`, bound to the persistent volume `pv-1` of that driver. */
export function makeCsi(
  csi: Record<string, unknown> = {},
  spec: Record<string, unknown> = {},
  csiDriver: Partial<CsiDriverData['spec']> | undefined = { attachRequired: false },
  options: { readonly showsHealth?: boolean } = {},
  managerOptions: VolumeManagerOptions = {},
): CsiFixture {
  const claims = new MemoryClaims();
  const api = new MemoryCsiObjects();
  const volumeLifecycleModes = ['Persistent', 'Ephemeral'];
  const fsGroupPolicy = 'ReadWriteOnceWithFSType';
  if (csiDriver) api.drivers.set(DRIVER, { spec: { volumeLifecycleModes, fsGroupPolicy, ...csiDriver } });
  const registered = new Map<string, CsiDriverClient>();
  const drivers: CsiDrivers = { driver: (name) => registered.get(name) };
  const status: CsiFixture['status'] = { attached: undefined, inUseChanges: 0 };
  const limits: CsiFixture['limits'] = { refreshed: [] };
  const refreshLimit = async (name: string): Promise<void> => {
    limits.refreshed.push(name);
    if (limits.failure) throw limits.failure;
  };
  const fixture = setUp(managerOptions, {}, claims, ({ fs, foreignFiles, mounter, paths, loops, clock, recorder }) => {
    const csiPlugin = new CsiPlugin(
      {
        fs,
        foreignFiles,
        mounter,
        loops,
        paths,
        clock,
        recorder,
        drivers,
        objects: api,
        tokens: api,
        refreshLimit,
        volumes: claims,
      },
      { nodeName: NODE, ...options },
    );
    return {
      plugins: [csiPlugin, ...(csiPlugin.block ? [csiPlugin.block] : [])],
      attachments: { attachedVolumes: () => status.attached },
      onVolumesInUseChanged: () => {
        status.inUseChanges += 1;
      },
    };
  });
  const driver = new MemoryDriver(fixture);
  registered.set(DRIVER, driver);
  claims.bind('c', 'pv-1', {
    accessModes: ['ReadWriteOnce'],
    csi: { driver: DRIVER, volumeHandle: 'vol-1', fsType: 'ext4', ...csi },
    ...spec,
  });
  return { ...fixture, claims, api, driver, registered, status, limits };
}

/** A pod that uses the claim `c`. */
export function claimPod(uid: string, spec: Partial<Pod['spec']> = {}, readOnly = false): Pod {
  return podOf([{ name: 'data', persistentVolumeClaim: { claimName: 'c', readOnly } }], uid, spec);
}

/** A pod whose container gets the claim `c` as a block device. */
export function blockPod(uid: string, readOnly = false): Pod {
  const pod = claimPod(uid, {}, readOnly);
  const volumeDevices = [{ name: 'data', devicePath: '/dev/xvda' }];
  return { ...pod, spec: { ...pod.spec, containers: [{ name: 'main', image: 'busybox', volumeDevices }] } };
}

/** A pod with an inline CSI volume. */
export function inlinePod(uid: string, csi: Record<string, unknown> = {}, spec: Partial<Pod['spec']> = {}): Pod {
  return podOf([{ name: 'data', csi: { driver: DRIVER, ...csi } }], uid, spec);
}

export const text = async (fs: MemoryFileSystem, path: string): Promise<string> =>
  new TextDecoder().decode(await fs.readFile(path));
