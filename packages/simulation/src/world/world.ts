import { seededRandom } from '@node-agent/async';
import { FakeClock } from '@node-agent/async/testing';
import { ContainerState, PodSandboxState } from '@node-agent/cri-client';
import { FakeRuntime, typicalLatencies } from '@node-agent/fake-cri';
import { MemorySockets } from '@node-agent/grpc/testing';
import { MemoryFileSystem } from '@node-agent/host/testing';
import type { Fetch } from '@node-agent/pod-config';
import { MemoryMounter, type MountChange } from '@node-agent/volumes/testing';
import type { NodePlan } from '../scenario/actions.ts';
import { DISKS } from '../scenario/disk-plans.ts';
import {
  devicePath,
  FOREIGN_DIRECTORY,
  HOOK_COMMAND,
  manifestOfAll,
  PRE_STOP_COMMAND,
  SLOW_IMAGE,
} from '../scenario/manifest.ts';
import { AttachController } from './attach-controller.ts';
import { type ApiRequest, ClusterApi } from './cluster-api.ts';
import { type CsiCall, type CsiCallPhase, PLUGINS_DIRECTORY } from './csi-driver.ts';
import { CsiDrivers } from './csi-drivers.ts';
import { DevicePlugins } from './device-plugins.ts';
import { type DraDriverComponents, SimulatedDraDriver } from './dra-driver.ts';
import { type BegunHook, HookTargets } from './hook-targets.ts';
import { Ledger, type Life, type LifeEvent } from './ledger.ts';
import { LocalDisks } from './local-disks.ts';
import { type LoginListener, LoginManager } from './login-manager.ts';
import { MemoryCgroups } from './memory-cgroups.ts';
import { MemoryLoops } from './memory-loops.ts';
import { Pressure, type Scarce } from './pressure.ts';
import { ProbeTargets } from './probe-targets.ts';

/** Directory of static pod manifests. */
export const MANIFEST_DIRECTORY = '/etc/kubernetes/manifests';
/** The kubelet's root directory. */
export const ROOT_DIRECTORY = '/var/lib/kubelet';
/** Directory of pod logs. */
export const POD_LOGS_DIRECTORY = '/var/log/pods';
/** URL at which manifests are served. */
export const MANIFEST_URL = 'http://manifests.example/pods';
/** A directory that does not belong to any pod or to the kubelet. Hostile links lead to it. */
export const OUTSIDE_DIRECTORY = '/srv/outside';

/** An image that no pod uses. */
const UNUSED_IMAGE = 'registry.example/unused:1';
/** The mount point that the runtime reports for its images. */
const IMAGES_DIRECTORY = '/var/lib/fake-cri';
const SLOW_PULL_MS = 45_000;
/** Fraction of interrupted starts that leave a task behind. The fraction is much higher than with a real runtime. */
const LEAKS = 0.7;

/** Sandboxes and containers that the runtime has. The state is read without the CRI. */
export interface RuntimeTruth {
  readonly sandboxes: readonly { readonly id: string; readonly podUid: string; readonly ready: boolean }[];
  readonly containers: readonly {
    readonly id: string;
    readonly podUid: string;
    readonly name: string;
    /** CPU shares that the runtime set last; 0 if none were set. */
    readonly cpuShares: number;
  }[];
}

/**
 * The machine around the kubelet, which survives the kubelet: clock, file system, mounts, and the runtime with its
 * containers.
 */
export class World {
  readonly clock: FakeClock = new FakeClock();
  readonly fs: MemoryFileSystem = new MemoryFileSystem({ clock: this.clock });
  readonly mounter: MemoryMounter;
  readonly disks: LocalDisks;
  readonly runtime: FakeRuntime;
  readonly ledger: Ledger;
  readonly probeTargets: ProbeTargets = new ProbeTargets(() => this.ledger.live);
  readonly hookTargets: HookTargets;
  /** Memory and disk, and the cgroups of pods, if the node's resources are simulated. */
  readonly pressure: Pressure | undefined;
  readonly cgroups: MemoryCgroups | undefined;
  /** Device plugins, if the node has any. */
  readonly devicePlugins: DevicePlugins | undefined;
  /** Connects the kubelet with device plugins and CSI drivers. */
  readonly sockets: MemorySockets = new MemorySockets();
  /** CSI drivers, if the node has any. */
  readonly csi: CsiDrivers | undefined;
  /** The controller that attaches the volumes of CSI drivers. */
  readonly attacher: AttachController | undefined;
  /** The DRA driver, if the node has one. */
  readonly dra: SimulatedDraDriver | undefined;
  readonly loops: MemoryLoops = new MemoryLoops();
  /** logind, if the machine's shutdown waits for pods. */
  readonly login: LoginManager | undefined;
  /** Number of changes of the kubelet's policies. */
  policyChanges = 0;
  /** Whether the machine has no power. */
  off = false;
  /** The API server, if the node is part of a cluster. */
  readonly api: ClusterApi | undefined;
  /** Response of the manifest URL without faults; `undefined` if connections are refused. */
  #served: string | undefined;
  #servingError = { status: 0, untilMs: 0 };
  #etag = 0;
  /**
   * Whether the runtime no longer leaves a container's task behind when the caller aborts StartContainer. The flag is
   * needed because StartContainer may still be aborted after all other faults have ended.
   */
  leaksOver = false;

  /**
   * @param tell called for each start, signal and end of a container
   * @param tellGroup called with the pod's UID before a pod's cgroup is removed
   * @param tellLogin called for changes of the machine's shutdown
   * @param tellHook called for each hook that reaches its container
   * @param tellMount called for each mount
   * @param tellPreStop called for each container that its `preStop` hook reaches
   * @param tellCsi called for each step of a call of a CSI driver
   * @param tellClaim called for each step of a call of the DRA driver
   * @param tellAttached called when a controller has attached or detached a volume
   */
  constructor(
    seed: number,
    plan: NodePlan,
    tell: (kind: LifeEvent, life: Life) => void,
    tellRequest: (request: ApiRequest) => void,
    tellGroup: (podUid: string) => void,
    tellLogin: LoginListener,
    tellHook: (hook: BegunHook) => void,
    tellMount: (change: MountChange) => void,
    tellPreStop: (life: Life) => void,
    tellCsi: (call: CsiCall, phase: CsiCallPhase, code?: string) => void,
    tellAttached: (volume: string, attached: boolean) => void,
    tellClaim: DraDriverComponents['tell'],
  ) {
    this.mounter = new MemoryMounter({ fs: this.fs }, tellMount);
    this.disks = new LocalDisks(this.clock, this.mounter);
    // An empty list of pods is a valid response. Without any response from a pod source, the kubelet removes nothing
    // (F1).
    if (plan.http) this.serve(manifestOfAll([]));
    this.api = plan.cluster ? new ClusterApi(this.clock, seed, plan, tellRequest) : undefined;
    const { resources, devices, shutdown } = plan;
    this.login = shutdown && new LoginManager(this.clock, this.fs, shutdown, tellLogin);
    this.devicePlugins = devices && new DevicePlugins(this.clock, this.sockets, devices);
    const { clock, fs, mounter, sockets } = this;
    this.csi = plan.csi && new CsiDrivers({ clock, fs, mounter, sockets, tell: tellCsi }, plan.csi);
    const deviceOf = (claim: string): string | undefined => this.api?.claims?.deviceOf(claim);
    this.dra = plan.claims && new SimulatedDraDriver({ clock, fs, sockets, deviceOf, tell: tellClaim });
    this.attacher = this.api && plan.csi && new AttachController(clock, this.api.server, plan.csi, tellAttached);
    this.pressure = resources && new Pressure(this.clock, resources.figuresEveryMs, resources.soft !== undefined);
    this.cgroups = resources && new MemoryCgroups(tellGroup);
    const sandboxes = new Map<string, string>();
    this.ledger = new Ledger({
      clock: this.clock,
      sandboxOf: (id) => {
        for (const live of this.runtime.liveContainers()) sandboxes.set(live.id, live.sandboxId);
        return sandboxes.get(id) ?? '';
      },
      exec: (id, [command]) => {
        if (command === PRE_STOP_COMMAND) return this.hookTargets.execPreStop(id);
        return command === HOOK_COMMAND ? this.hookTargets.exec(id) : undefined;
      },
      tell,
    });
    this.hookTargets = new HookTargets(this.clock, this.ledger, tellHook, tellPreStop);
    const leaks = seededRandom(seed);
    this.runtime = new FakeRuntime(
      { clock: this.clock, fs: this.fs, random: seededRandom(seed) },
      {
        script: (container) => this.ledger.behaviour(container),
        latencies: plan.latencies ? typicalLatencies : {},
        registry: (reference) => ({
          image: { tags: [reference] },
          pullMs: reference.includes(SLOW_IMAGE) ? SLOW_PULL_MS : plan.latencies ? 300 : 0,
        }),
        unimplemented: plan.events ? [] : ['getContainerEvents'],
        leaksBrokenStart: () => !this.leaksOver && leaks.next() < LEAKS,
      },
    );
  }

  /** Creates the directories of the machine. */
  async prepare(): Promise<void> {
    const all = [
      '/dev',
      MANIFEST_DIRECTORY,
      ROOT_DIRECTORY,
      POD_LOGS_DIRECTORY,
      IMAGES_DIRECTORY,
      '/var/log/containers',
    ];
    for (const directory of all) await this.fs.mkdir(directory);
    await this.fs.mkdir('/mnt/foreign');
    this.fs.mount('/mnt/foreign');
    await this.fs.mkdir(FOREIGN_DIRECTORY);
    await this.fs.mkdir(OUTSIDE_DIRECTORY);
    await this.fs.writeFile(`${OUTSIDE_DIRECTORY}/kept`, 'kept');
    await this.fs.writeFile('/etc/hosts', '127.0.0.1 localhost\n');
    await this.fs.writeFile('/etc/resolv.conf', 'nameserver 192.0.2.1\n');
    if (this.api !== undefined) for (const disk of DISKS) this.fs.makeSpecial(devicePath(disk), 'blockDevice');
    await this.devicePlugins?.start();
    if (this.csi !== undefined || this.dra !== undefined) await this.fs.mkdir(PLUGINS_DIRECTORY);
    await this.csi?.start();
    await this.dra?.start();
    this.attacher?.start();
  }

  /**
   * Makes the machine short of a resource for a time.
   * @param unused whether an unused image, which is added now, is the reason
   */
  beginPressure(of: Scarce, forMs: number, unused: boolean): void {
    if (unused) this.runtime.addImage({ tags: [UNUSED_IMAGE] });
    this.pressure?.begin(of, forMs, unused);
  }

  /** Serves these manifests at the manifest URL from now on. */
  serve(manifests: string): void {
    this.#served = manifests;
    this.#servingError = { status: 0, untilMs: 0 };
    this.#etag++;
  }

  /**
   * Makes the manifest URL respond with an error for a time. An error that is already active lasts until the later of
   * the two ends.
   */
  failServing(status: number, forMs: number): void {
    const untilMs = Math.max(this.#servingError.untilMs, this.clock.monotonic() + forMs);
    this.#servingError = { status, untilMs };
  }

  /** The HTTP client for the manifest URL. */
  get fetch(): Fetch {
    return async () => {
      if (this.#served === undefined) throw new Error('fetch failed');
      const { status, untilMs } = this.#servingError;
      if (this.clock.monotonic() < untilMs) return { status, headers: { get: () => null }, body: chunks('no') };
      const body = this.#served;
      const etag = `"${this.#etag}"`;
      return {
        status: 200,
        headers: { get: (name) => (name.toLowerCase() === 'etag' ? etag : null) },
        body: chunks(body),
      };
    };
  }

  /** Returns the runtime's state. The runtime must be up and its faults cleared. */
  async truth(): Promise<RuntimeTruth> {
    const [{ items }, { containers }] = await Promise.all([
      this.runtime.listPodSandbox({}),
      this.runtime.listContainers({}),
    ]);
    const uidOf = new Map(items.map(({ id, metadata }) => [id, metadata?.uid ?? '']));
    const known = containers.filter(({ state }) => state !== ContainerState.CONTAINER_UNKNOWN);
    const shares = await Promise.all(known.map(({ id }) => this.#cpuShares(id)));
    return {
      sandboxes: items.map(({ id, metadata, state }) => ({
        id,
        podUid: metadata?.uid ?? '',
        ready: state === PodSandboxState.SANDBOX_READY,
      })),
      containers: known.map(({ id, podSandboxId, metadata }, index) => ({
        id,
        podUid: uidOf.get(podSandboxId) ?? '',
        name: metadata?.name ?? '',
        cpuShares: shares[index] ?? 0,
      })),
    };
  }

  async #cpuShares(containerId: string): Promise<number> {
    if (this.pressure === undefined) return 0;
    const { status } = await this.runtime.containerStatus({ containerId });
    return status?.resources?.linux?.cpuShares ?? 0;
  }
}

async function* chunks(body: string): AsyncGenerator<Uint8Array> {
  if (body !== '') yield new TextEncoder().encode(body);
}
