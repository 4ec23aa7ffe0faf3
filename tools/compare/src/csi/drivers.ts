import { join } from 'node:path';
import type { ControlPlane } from '@node-agent/tools-control-plane';
import { DriverProcess, type LoggedCall, removeStorageLeftovers } from '@node-agent/tools-csi-driver';

/** CSI driver that both sides run under the same name. */
interface Offer {
  readonly spec: Readonly<Record<string, unknown>>;
  /** Flags of the driver's process; undefined if only the CSIDriver object exists. */
  readonly flags: readonly string[] | undefined;
}

/** First part of a driver's name, before `.compare.example.com`. */
export type DriverKey = 'files' | 'plain' | 'unstaged' | 'attached' | 'absent';

const OFFERS: Readonly<Record<DriverKey, Offer>> = {
  /**
   * For this driver, the kubelet changes the files' group to the pod's fsGroup, and passes the pod's name and a service
   * account token to the driver.
   */
  files: {
    spec: {
      ...{ attachRequired: false, podInfoOnMount: true, fsGroupPolicy: 'File' },
      ...{ volumeLifecycleModes: ['Persistent', 'Ephemeral'], tokenRequests: [{ audience: 'compare' }] },
    },
    flags: ['--maxvolumespernode=90'],
  },
  /** A driver with the defaults of a CSIDriver, but without attachment. */
  plain: { spec: { attachRequired: false }, flags: [] },
  /**
   * A driver that sets the fsGroup itself, has no stage RPC, and requires that the kubelet publishes volumes repeatedly
   * (`requiresRepublish`).
   */
  unstaged: {
    spec: { attachRequired: false, podInfoOnMount: true, requiresRepublish: true, fsGroupPolicy: 'File' },
    flags: ['--omit-stage', '--enable-volume-mount-group'],
  },
  /** A driver whose volumes are attached by the attach/detach controller. */
  attached: { spec: { attachRequired: true, fsGroupPolicy: 'None' }, flags: ['--enable-attach'] },
  /** A driver without a process; only its CSIDriver object exists. */
  absent: { spec: { attachRequired: false }, flags: undefined },
};

const KEYS = Object.keys(OFFERS) as DriverKey[];

/** Returns the name of a driver. */
export function driverName(key: DriverKey): string {
  return `${key}.compare.example.com`;
}

/**
 * Reports whether the kubelet repeats this call for a volume (`requiresRepublish`), so that the number of calls depends
 * on timing.
 */
export function isRepublished(call: Pick<LoggedCall, 'rpc'>, key: DriverKey): boolean {
  return key === 'unstaged' && call.rpc === 'NodePublishVolume';
}

/** Creates the CSIDriver objects of the cluster, which both sides share. */
export async function createCsiDrivers(controlPlane: Pick<ControlPlane, 'json'>): Promise<void> {
  for (const key of KEYS) {
    const object = { metadata: { name: driverName(key) }, spec: OFFERS[key].spec };
    await controlPlane.json('POST', '/apis/storage.k8s.io/v1/csidrivers', object);
  }
}

/** CSI drivers of one side, each with a registrar that announces it to the side's kubelet. */
export class CsiDrivers {
  readonly #directory: string;
  readonly #drivers: ReadonlyMap<DriverKey, DriverProcess>;

  constructor(options: { readonly directory: string; readonly nodeName: string; readonly rootDirectory: string }) {
    this.#directory = options.directory;
    this.#drivers = new Map(
      KEYS.flatMap((key) => {
        const { flags } = OFFERS[key];
        if (flags === undefined) return [];
        const directory = join(options.directory, key);
        const registryDirectory = join(options.rootDirectory, 'plugins_registry');
        const named = { driverName: driverName(key), nodeId: options.nodeName };
        return [[key, new DriverProcess({ ...named, directory, registryDirectory, flags })] as const];
      }),
    );
  }

  async start(): Promise<void> {
    await Promise.all([...this.#drivers.values()].map((driver) => driver.start()));
  }

  /** Ends the processes, and removes their mounts and loop devices. */
  async stop(): Promise<void> {
    await Promise.all([...this.#drivers.values()].map((driver) => driver.stop()));
    await removeStorageLeftovers(this.#directory);
  }

  /** Returns a driver with a process. @throws RangeError if the driver has no process */
  of(key: DriverKey): DriverProcess {
    const driver = this.#drivers.get(key);
    if (driver === undefined) throw new RangeError(`driver ${key} has no process`);
    return driver;
  }

  /** Returns the names of the drivers with a process. */
  get names(): readonly string[] {
    return [...this.#drivers.keys()].map(driverName);
  }

  /** Returns the completed calls of all drivers. */
  async calls(): Promise<readonly DriverCall[]> {
    const found = await Promise.all(
      [...this.#drivers].map(async ([key, driver]) => (await driver.calls()).map((call) => ({ ...call, driver: key }))),
    );
    return found.flat();
  }
}

/** Logged call of one of the drivers, with the driver's key. */
export interface DriverCall extends LoggedCall {
  readonly driver: DriverKey;
}
