import type { FakeClock } from '@node-agent/async/testing';
import type { FakeApiServer } from '@node-agent/fake-apiserver';
import { NODE_NAME } from '../scenario/manifest.ts';
import { attachmentObject, uniqueName } from '../scenario/volume-objects.ts';
import type { CsiPlan, CsiVolumePlan } from '../scenario/volume-plans.ts';

/** Interval at which the controller reads nodes and pods from the API. */
const LOOK_MS = 500;

/** API user of the attach controller. */
const CONTROLLER = { name: 'system:attach-detach-controller', groups: ['system:masters'] };

type State = 'attaching' | 'attached' | 'detaching';

/**
 * The controller that attaches volumes to the node (upstream: `pkg/controller/volume/attachdetach`): the controller
 * attaches the volumes of the node's pods, and detaches a volume that no pod uses any more once the node does not
 * report it in use.
 */
export class AttachController {
  readonly #clock: FakeClock;
  readonly #server: FakeApiServer;
  readonly #plan: CsiPlan;
  readonly #tell: (volume: string, attached: boolean) => void;
  readonly #volumes: readonly CsiVolumePlan[];
  /**
   * States of volumes outside the API, which survive a loss of the API server's store. Volumes without a state are
   * detached.
   */
  readonly #states = new Map<string, State>();
  #away = false;

  /** @param tell called when a volume is really attached or detached */
  constructor(
    clock: FakeClock,
    server: FakeApiServer,
    plan: CsiPlan,
    tell: (volume: string, attached: boolean) => void,
  ) {
    this.#clock = clock;
    this.#server = server;
    this.#plan = plan;
    this.#tell = tell;
    const attaching = new Set(plan.drivers.filter(({ attach }) => attach).map(({ name }) => name));
    this.#volumes = plan.volumes.filter(({ driver }) => attaching.has(driver));
  }

  /** The volumes that are attached now. */
  get attached(): readonly string[] {
    return [...this.#states].filter(([, state]) => state !== 'attaching').map(([name]) => name);
  }

  start(): void {
    this.#clock.setTimer(LOOK_MS, () => {
      this.#look();
      this.start();
    });
  }

  /** Pauses the controller, or lets it continue. */
  setAway(away: boolean): void {
    this.#away = away;
  }

  #look(): void {
    const node = this.#node;
    if (this.#away || !this.#server.reachable || node === undefined) return;
    const inUse = new Set(node.status?.volumesInUse);
    const wanted = this.#wanted();
    for (const volume of this.#volumes) {
      const state = this.#states.get(volume.name);
      if (wanted.has(volume.name) && state === undefined) this.#attach(volume);
      else if (state === 'attached' && !wanted.has(volume.name) && !inUse.has(uniqueName(volume))) this.#detach(volume);
    }
    this.#report();
  }

  #attach({ name }: CsiVolumePlan): void {
    this.#states.set(name, 'attaching');
    this.#clock.setTimer(this.#plan.attachMs, () => {
      this.#states.set(name, 'attached');
      this.#tell(name, true);
    });
  }

  /**
   * Detaches a volume after the plan's delay. The node's status and the VolumeAttachment show the volume as detached
   * already before.
   */
  #detach(volume: CsiVolumePlan): void {
    const { name } = volume;
    this.#states.set(name, 'detaching');
    this.#clock.setTimer(this.#plan.attachMs, () => {
      this.#states.delete(name);
      this.#tell(name, false);
    });
  }

  /** Writes the attached volumes to the API. */
  #report(): void {
    const node = this.#node;
    if (node === undefined) return;
    const attached = this.#volumes.filter(({ name }) => this.#states.get(name) === 'attached');
    const known = new Set(this.#server.objects('volumeattachments').map((object) => nameOf(object)));
    const objects = attached.map(attachmentObject);
    for (const object of objects) if (!known.delete(object.metadata.name)) this.#server.put(object);
    for (const name of known) void this.#delete(name);
    const names = attached.map(uniqueName);
    const before = (node.status?.volumesAttached ?? []).map(({ name }) => name);
    if (names.join() === before.join()) return;
    const volumesAttached = names.map((name) => ({ name, devicePath: '' }));
    this.#server.put({ ...node, apiVersion: 'v1', kind: 'Node', status: { ...node.status, volumesAttached } });
  }

  async #delete(name: string): Promise<void> {
    const path = `/apis/storage.k8s.io/v1/volumeattachments/${name}`;
    await this.#server.request({ method: 'DELETE', path, headers: {} }, undefined, CONTROLLER);
  }

  get #node(): NodeLike | undefined {
    return this.#server.objects('nodes').find((object) => nameOf(object) === NODE_NAME) as NodeLike | undefined;
  }

  /** Returns the volumes that pods of the node use. */
  #wanted(): ReadonlySet<string> {
    const pods = this.#server.objects('pods') as unknown as readonly PodLike[];
    const active = pods.filter(({ status }) => status?.phase !== 'Succeeded' && status?.phase !== 'Failed');
    const names = active
      .flatMap(({ spec }) => spec?.volumes ?? [])
      .map((volume) => volume.persistentVolumeClaim?.claimName);
    return new Set(names.filter((name) => name !== undefined));
  }
}

function nameOf(object: { readonly metadata?: unknown }): string {
  return (object.metadata as { readonly name: string }).name;
}

interface NodeLike {
  readonly metadata: Readonly<Record<string, never>>;
  readonly status?: {
    readonly volumesInUse?: readonly string[];
    readonly volumesAttached?: readonly { readonly name: string }[];
  };
}

interface PodLike {
  readonly spec?: {
    readonly volumes?: readonly { readonly persistentVolumeClaim?: { readonly claimName: string } }[];
  };
  readonly status?: { readonly phase?: string };
}
