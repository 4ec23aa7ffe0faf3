import type { ObjectMeta } from '@node-agent/pod-spec';

/** Fields of a ResourceClaim (`resource.k8s.io/v1`) that this package reads. */
export interface ResourceClaim {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta;
  readonly status?: {
    readonly allocation?: { readonly devices?: { readonly results?: readonly AllocatedDevice[] } };
    /** Pods and PodGroups that may use the claim. */
    readonly reservedFor?: readonly ClaimConsumer[];
  };
}

/** An allocated device (`DeviceRequestAllocationResult`). */
export interface AllocatedDevice {
  /**
   * Request that the device was allocated for. The form is `request/subrequest` for a request with a prioritized list.
   */
  readonly request: string;
  readonly driver: string;
  readonly pool: string;
  readonly device: string;
  /** Whether the claim has admin access to the device. Other claims may use the device at the same time. */
  readonly adminAccess?: boolean;
  /** ID of the share, if the device is divided between several claims. */
  readonly shareID?: string;
}

/** A consumer of a claim (`ResourceClaimConsumerReference`). */
export interface ClaimConsumer {
  readonly apiGroup?: string;
  /** Plural resource name of the consumer's kind, such as `pods`. */
  readonly resource: string;
  readonly name: string;
  readonly uid: string;
}

/** Returns the devices that are allocated to a claim, or `undefined` if the claim is not allocated. */
export function allocatedDevices({ status }: ResourceClaim): readonly AllocatedDevice[] | undefined {
  return status?.allocation && (status.allocation.devices?.results ?? []);
}
