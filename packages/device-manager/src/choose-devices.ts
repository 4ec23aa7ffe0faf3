/** What a choice is made from. */
export interface DeviceDemand {
  readonly podUid: string;
  readonly container: string;
  readonly resource: string;
  /** How many devices the container asks for. */
  readonly required: number;
  /** What it was granted before; `undefined` where nothing. */
  readonly granted: ReadonlySet<string> | undefined;
  /** The healthy devices of the resource; `undefined` where no plugin has told any. */
  readonly healthy: ReadonlySet<string> | undefined;
  /** What containers hold, or are about to. */
  readonly inUse: ReadonlySet<string>;
  /** What it may take over from containers of its own pod. */
  readonly reusable: ReadonlySet<string>;
}

export type DeviceChoice =
  /** It has what it needs already. */
  | { readonly kind: 'granted' }
  /** `short`: only because others hold devices. */
  | { readonly kind: 'refused'; readonly message: string; readonly short?: boolean }
  /** `taken` are its, and `needed` more of `available`, of which the plugin may say which it prefers. */
  | {
      readonly kind: 'open';
      readonly taken: readonly string[];
      readonly needed: number;
      readonly available: readonly string[];
    };

/**
 * Which devices a container gets, as far as the kubelet alone decides it (`devicesToAllocate`, `pkg/kubelet/cm/devicemanager/manager.go`,
 * without a topology manager, in its words). Where devices are equal, those whose names come first are taken.
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
 * The devices that a container gets beside those that it takes over: what the plugin prefers first. What it names that is not
 * available is passed over.
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
