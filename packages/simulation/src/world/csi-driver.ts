import { type Clock, sleep } from '@node-agent/async';
import { type CsiNodeCall, FakeCsiDriver, type ReceivedCall } from '@node-agent/csi/testing';
import { type GrpcCode, GrpcError } from '@node-agent/grpc';
import type { MemoryFileSystem } from '@node-agent/host/testing';
import { foundPlugin } from '@node-agent/plugin-watcher/testing';
import type { CsiDriverPlan, CsiFaultCall, CsiFaultKind } from '../scenario/volume-plans.ts';
import type { CsiDriversComponents, CsiPlace } from './csi-drivers.ts';
import { createSocketFile, removeSocketFile } from './plugin-socket.ts';

/** Directory in which plugins have their sockets. */
export const PLUGINS_DIRECTORY = '/var/lib/kubelet/plugins_registry';

/** A call that reached a CSI driver. One object stands for the call in all phases of the call. */
export interface CsiCall {
  readonly driver: string;
  readonly call: CsiFaultCall;
  readonly volume: string;
  /** Staging path, or the path at which the volume is published. */
  readonly path: string;
}

/**
 * `began`: the call reached the driver; `acted`: the call took effect; `answered`: the caller has the result;
 * `abandoned`: the caller does not wait any more; `refused`: the call broke a rule of the CSI specification.
 */
export type CsiCallPhase = 'began' | 'acted' | 'answered' | 'abandoned' | 'refused';

const CALLS: Readonly<Partial<Record<CsiNodeCall, CsiFaultCall>>> = {
  NodeStageVolume: 'stage',
  NodeUnstageVolume: 'unstage',
  NodePublishVolume: 'publish',
  NodeUnpublishVolume: 'unpublish',
  NodeExpandVolume: 'expand',
};

/** Time that a call takes. */
const WORK_MS = 20;

interface Request {
  readonly volumeId: string;
  readonly stagingTargetPath?: string;
  readonly targetPath?: string;
  readonly volumePath?: string;
  readonly volumeCapability?: { readonly block: object | null } | null;
}

/**
 * A driver whose volumes are mounts of the machine. At most one call per volume is in progress, as with real drivers.
 */
export class SimulatedCsiDriver {
  readonly #components: CsiDriversComponents;
  readonly #clock: Clock;
  readonly #fs: MemoryFileSystem;
  readonly #plan: CsiDriverPlan;
  readonly #driver: FakeCsiDriver;
  readonly #socketPath: string;
  readonly #blockPaths = new Set<string>();
  readonly #faults = new Map<CsiFaultCall, CsiFaultKind>();
  /** Volumes with a call in progress. */
  #busy = new Set<string>();
  #curing = Promise.withResolvers<void>();
  #isRunning = false;
  /** Number of times that the process has died. A call that began before the last death has no effect any more. */
  #deaths = 0;

  constructor(components: CsiDriversComponents, plan: CsiDriverPlan) {
    this.#components = components;
    this.#clock = components.clock;
    this.#fs = components.fs;
    this.#plan = plan;
    const { name, stage } = plan;
    this.#socketPath = `${PLUGINS_DIRECTORY}/${name}.sock`;
    this.#driver = new FakeCsiDriver({
      ...{ name, socketPath: this.#socketPath, transport: components.sockets, clock: components.clock },
      capabilities: { stageUnstage: stage, singleNodeMultiWriter: true },
      services: [foundPlugin({ type: 'CSIPlugin', name, versions: ['1.0.0'] })],
      around: (received, act, signal) => this.#around(received, act, signal),
    });
  }

  get staged(): readonly CsiPlace[] {
    return [...this.#driver.volumes.staged].map(([volume, path]) => ({ volume, path }));
  }

  get published(): readonly CsiPlace[] {
    return [...this.#driver.volumes.published].map(([path, { volumeId }]) => ({ volume: volumeId, path }));
  }

  async start(): Promise<void> {
    if (this.#isRunning) return;
    this.#isRunning = true;
    const deaths = this.#deaths;
    await this.#driver.start();
    await createSocketFile(this.#components, this.#socketPath, () => deaths === this.#deaths);
  }

  /** @param clean whether the process removes its socket, as after SIGTERM */
  kill(clean: boolean): void {
    if (!this.#isRunning) return;
    this.#isRunning = false;
    this.#deaths++;
    this.#busy = new Set();
    this.#driver.stop();
    if (clean) void removeSocketFile(this.#fs, this.#socketPath);
  }

  misbehave(call: CsiFaultCall, fault: CsiFaultKind | undefined): void {
    if (fault !== undefined) {
      this.#faults.set(call, fault);
      return;
    }
    this.#faults.delete(call);
    this.#curing.resolve();
    this.#curing = Promise.withResolvers<void>();
    // A fault may have killed the process, so the process is started again.
    void this.start();
  }

  async cure(): Promise<void> {
    this.#faults.clear();
    this.#curing.resolve();
    this.#curing = Promise.withResolvers<void>();
    await this.start();
  }

  async powerOff(): Promise<void> {
    this.kill(false);
    const { staged, published } = this.#driver.volumes;
    staged.clear();
    published.clear();
    // A driver mounts the device of a block volume over a plain file. The power loss removes that mount, so the plain
    // file is there again.
    for (const path of this.#blockPaths) {
      // A power failure may have lost the name already.
      await this.#fs.removeAll(path);
      await this.#fs.writeFile(path, '');
    }
    this.#blockPaths.clear();
  }

  async #around({ call: name, request }: ReceivedCall, act: () => object, signal: AbortSignal): Promise<object> {
    const call = CALLS[name];
    if (call === undefined) return act();
    const asked = request as unknown as Request;
    const path = pathOf(call, asked);
    const one: CsiCall = { driver: this.#plan.name, call, volume: asked.volumeId, path };
    const { tell } = this.#components;
    tell(one, 'began');
    let isOver = false;
    const onAbort = (): void => {
      if (!isOver) tell(one, 'abandoned');
    };
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      const result = await this.#serve(one, asked, act);
      isOver = true;
      if (!signal.aborted) tell(one, 'answered', 'OK');
      return result;
    } catch (error) {
      isOver = true;
      if (!signal.aborted) tell(one, 'answered', GrpcError.from(error).code);
      throw error;
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
  }

  async #serve(one: CsiCall, request: Request, act: () => object): Promise<object> {
    const deaths = this.#deaths;
    const busy = this.#busy;
    if (busy.has(one.volume)) throw failure('ABORTED', 'another call for the volume is in progress');
    busy.add(one.volume);
    try {
      await sleep(this.#clock, WORK_MS);
      return await this.#withFault(one, request, act, deaths);
    } finally {
      busy.delete(one.volume);
    }
  }

  async #withFault(one: CsiCall, request: Request, act: () => object, deaths: number): Promise<object> {
    const fault = this.#faults.get(one.call);
    const { promise: cured } = this.#curing;
    if (fault === 'hang') await cured;
    if (fault === 'diesBefore') this.#die(one.call);
    await this.#unlessDead(deaths);
    if (fault === 'unsure') throw failure('UNAVAILABLE', 'the driver is overloaded');
    // A final error code means that nothing is left behind. If something may be left, the driver returns a code that
    // leaves the effect unknown.
    if (fault === 'final') throw failure(this.#hasNothing(one) ? 'INTERNAL' : 'UNAVAILABLE', 'the volume is broken');
    const result = await this.#effect(one, request, act);
    if (fault === 'diesAfter') this.#die(one.call);
    if (fault === 'late') await cured;
    await this.#unlessDead(deaths);
    if (fault === 'lost') throw failure('UNAVAILABLE', 'the answer was lost');
    return result;
  }

  #die(call: CsiFaultCall): void {
    this.#faults.delete(call);
    this.kill(false);
  }

  /** A call of a dead process neither continues nor responds. */
  async #unlessDead(deaths: number): Promise<void> {
    if (deaths !== this.#deaths) await new Promise<never>(() => {});
  }

  #hasNothing({ call, volume, path }: CsiCall): boolean {
    const { staged, published } = this.#driver.volumes;
    if (call === 'stage') return !staged.has(volume);
    return call !== 'publish' || !published.has(path);
  }

  async #effect(one: CsiCall, request: Request, act: () => object): Promise<object> {
    const { tell } = this.#components;
    const { violations } = this.#driver;
    try {
      if (one.call === 'publish' || one.call === 'stage') await this.#mount(one, request);
      if (one.call === 'unpublish' || one.call === 'unstage') await this.#unmount(one);
    } catch (error) {
      throw failure(this.#hasNothing(one) ? 'INTERNAL' : 'UNAVAILABLE', String(error));
    }
    const broken = violations.length;
    try {
      const result = act();
      tell(one, 'acted');
      return result;
    } finally {
      const violation = violations[broken];
      if (violation !== undefined) tell(one, 'refused', violation);
    }
  }

  async #mount({ call, volume, path }: CsiCall, { stagingTargetPath = '', volumeCapability }: Request): Promise<void> {
    const { mounter } = this.#components;
    if (volumeCapability?.block) {
      if (call === 'stage' || this.#blockPaths.has(path)) return;
      await this.#fs.remove(path).catch(() => {});
      this.#fs.makeSpecial(path, 'blockDevice');
      this.#blockPaths.add(path);
      return;
    }
    const points = await mounter.mountPoints();
    if (points.has(path)) return;
    if (call === 'publish') await this.#fs.mkdir(path);
    if (call === 'publish' && points.has(stagingTargetPath)) await mounter.bind(stagingTargetPath, path);
    else await mounter.mount(volume, path, 'csi');
  }

  async #unmount({ call, path }: CsiCall): Promise<void> {
    const { mounter } = this.#components;
    if ((await mounter.mountPoints()).has(path)) await mounter.unmount(path);
    if (call === 'unstage') return;
    this.#blockPaths.delete(path);
    if (await this.#fs.exists(path)) await this.#fs.remove(path);
  }
}

function pathOf(call: CsiFaultCall, { stagingTargetPath = '', targetPath = '', volumePath = '' }: Request): string {
  if (call === 'expand') return volumePath;
  return call === 'stage' || call === 'unstage' ? stagingTargetPath : targetPath;
}

function failure(code: GrpcCode, details: string): GrpcError {
  return new GrpcError({ code, details });
}
