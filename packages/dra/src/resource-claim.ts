import type { ObjectMeta } from '@node-agent/pod-spec';

/** Fields of a ResourceClaim (`resource.k8s.io/v1`) that this package reads. */
export interface ResourceClaim {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta;
  readonly status?: {
    readonly allocation?: { readonly devices?: { readonly results?: readonly AllocatedDevice[] } };
    /** Pods, and groups of pods, that may use the claim. */
    readonly reservedFor?: readonly ClaimConsumer[];
  };
}

/** An allocated device (`DeviceRequestAllocationResult`). */
export interface AllocatedDevice {
  /** Request of the claim; `request/subrequest` for a request with a prioritized list. */
  readonly request: string;
  readonly driver: string;
  readonly pool: string;
  readonly device: string;
  /** Whether the claim has admin access to the device, in addition to claims that use the device. */
  readonly adminAccess?: boolean;
  /** Identifies the share of a device that several claims may have. */
  readonly shareID?: string;
}

/** A consumer of a claim (`ResourceClaimConsumerReference`). */
export interface ClaimConsumer {
  readonly apiGroup?: string;
  /** Plural of the object's resource: `pods`. */
  readonly resource: string;
  readonly name: string;
  readonly uid: string;
}

/** Returns the devices that a claim has; `undefined` if the claim is not allocated. */
export function allocatedDevices({ status }: ResourceClaim): readonly AllocatedDevice[] | undefined {
  return status?.allocation && (status.allocation.devices?.results ?? []);
}
