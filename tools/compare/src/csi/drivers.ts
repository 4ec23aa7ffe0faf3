import { join } from 'node:path';
import type { ControlPlane } from '@node-agent/tools-control-plane';
import { DriverProcess, type LoggedCall, removeStorageLeftovers } from '@node-agent/tools-csi-driver';

/** Driver that both sides run under the same name. */
interface Offer {
  readonly spec: Readonly<Record<string, unknown>>;
  /** Flags of the process; undefined if only the CSIDriver object exists. */
  readonly flags: readonly string[] | undefined;
}

/** First word of a driver's name. */
export type DriverKey = 'files' | 'plain' | 'unstaged' | 'attached' | 'absent';

const OFFERS: Readonly<Record<DriverKey, Offer>> = {
  /** The kubelet gives the files to the pod's fsGroup, and passes the pod's name and service account to the driver. */
  files: {
    spec: {
      ...{ attachRequired: false, podInfoOnMount: true, fsGroupPolicy: 'File' },
      ...{ volumeLifecycleModes: ['Persistent', 'Ephemeral'], tokenRequests: [{ audience: 'compare' }] },
    },
    flags: ['--maxvolumespernode=90'],
  },
  /** The defaults of a CSIDriver, without attachment. */
  plain: { spec: { attachRequired: false }, flags: [] },
  /** The driver sets the group itself, stages nothing, and publishes again and again. */
  unstaged: {
    spec: { attachRequired: false, podInfoOnMount: true, requiresRepublish: true, fsGroupPolicy: 'File' },
    flags: ['--omit-stage', '--enable-volume-mount-group'],
  },
  /** A controller attaches the volumes. */
  attached: { spec: { attachRequired: true, fsGroupPolicy: 'None' }, flags: ['--enable-attach'] },
  /** No process serves this driver. */
  absent: { spec: { attachRequired: false }, flags: undefined },
};

const KEYS = Object.keys(OFFERS) as DriverKey[];

/** Returns the name of a driver. */
export function driverName(key: DriverKey): string {
  return `${key}.compare.example.com`;
}

/** Returns whether a driver is called repeatedly for the same volume, so that the number of calls depends on timing. */
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

  /** Returns a driver with a process. @throws RangeError if it has none */
  of(key: DriverKey): DriverProcess {
    const driver = this.#drivers.get(key);
    if (driver === undefined) throw new RangeError(`driver ${key} has no process`);
    return driver;
  }

  /** Returns the names of the drivers with a process. */
  get names(): readonly string[] {
    return [...this.#drivers.keys()].map(driverName);
  }

  /** Returns the calls of all drivers that have ended. */
  async calls(): Promise<readonly DriverCall[]> {
    const found = await Promise.all(
      [...this.#drivers].map(async ([key, driver]) => (await driver.calls()).map((call) => ({ ...call, driver: key }))),
    );
    return found.flat();
  }
}

/** Call of one of the drivers. */
export interface DriverCall extends LoggedCall {
  readonly driver: DriverKey;
}
