import type { AlignedChoice } from './device-hints.ts';

/** Input of a choice of devices. */
export interface DeviceDemand {
  readonly podUid: string;
  readonly container: string;
  readonly resource: string;
  /** Number of devices that the container requests. */
  readonly required: number;
  /** Devices that the container already has; `undefined` if none. */
  readonly granted: ReadonlySet<string> | undefined;
  /** Healthy devices of the resource; `undefined` if no plugin has reported any. */
  readonly healthy: ReadonlySet<string> | undefined;
  /** Devices that containers hold or that are reserved. */
  readonly inUse: ReadonlySet<string>;
  /** Devices that the container may reuse from containers of its own pod. */
  readonly reusable: ReadonlySet<string>;
}

export type DeviceChoice =
  /** The container already has its devices. */
  | { readonly kind: 'granted' }
  /** The devices are refused. `short`: only because other containers hold them. */
  | { readonly kind: 'refused'; readonly message: string; readonly short?: boolean }
  | OpenChoice;

/**
 * Choice that involves the plugin: the container gets the devices `taken`, and `needed` more of `available`, of which
 * the plugin may prefer some.
 */
export interface OpenChoice {
  readonly kind: 'open';
  readonly taken: readonly string[];
  readonly needed: number;
  readonly available: readonly string[];
}

/**
 * Chooses the devices of a container if the kubelet alone can decide; otherwise returns the choice for the plugin
 * (`devicesToAllocate`, `pkg/kubelet/cm/devicemanager/manager.go`; messages are upstream's). Among equal devices, those
 * with the first names are chosen.
 */
export function chooseDevices(demand: DeviceDemand): DeviceChoice {
  const { podUid, container, resource, required, granted, healthy, inUse, reusable } = demand;
  if (granted !== undefined && granted.size !== required) {
    const whose = `pod ${JSON.stringify(podUid)} container ${JSON.stringify(container)}`;
    return refused(
      `${whose} changed request for resource ${JSON.stringify(resource)} from ${granted.size} to ${required}`,
    );
  }
  if (healthy === undefined) return refused(`cannot allocate unregistered device ${resource}`);
  if (healthy.size === 0) {
    return refused(`no healthy devices present; cannot allocate unhealthy devices ${resource}`);
  }
  if (granted !== undefined && ![...granted].every((id) => healthy.has(id))) {
    return refused(`previously allocated devices are no longer healthy; cannot allocate unhealthy devices ${resource}`);
  }
  if (granted !== undefined || required === 0) return { kind: 'granted' };

  const taken = inOrder(reusable).slice(0, required);
  const needed = required - taken.length;
  const available = inOrder(healthy).filter((id) => !inUse.has(id));
  if (available.length < needed) {
    const amounts = `Requested: ${needed}, Available: ${available.length}`;
    const message = `requested number of devices unavailable for ${resource}. ${amounts}`;
    return { kind: 'refused', short: healthy.size >= needed, message };
  }
  return { kind: 'open', taken, needed, available };
}

/**
 * Applies the NUMA affinity of a container to an open choice. If the aligned devices suffice, only aligned devices are
 * considered. Otherwise, the container gets all aligned devices, and the remaining ones from devices that are not
 * aligned.
 */
export function aligned(choice: OpenChoice, { aligned: close, others }: AlignedChoice): OpenChoice {
  const { taken, needed } = choice;
  if (needed < close.length) return { ...choice, available: close };
  return { ...choice, taken: [...taken, ...close], needed: needed - close.length, available: others };
}

/**
 * Returns the additional devices of a container: the plugin's preferred ones first. Preferred devices that are not
 * available are skipped.
 */
export function fillChoice(
  needed: number,
  available: readonly string[],
  preferred: Iterable<string>,
): readonly string[] {
  const free = new Set(available);
  const first = inOrder(new Set(preferred)).filter((id) => free.has(id));
  return [...new Set([...first, ...available])].slice(0, needed);
}

function refused(message: string): DeviceChoice {
  return { kind: 'refused', message };
}

function inOrder(ids: ReadonlySet<string>): readonly string[] {
  return [...ids].sort();
}
