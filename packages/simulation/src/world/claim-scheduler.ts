import type { FakeApiServer } from '@node-agent/fake-apiserver';
import { claimName, DRA_DRIVER } from '../scenario/claim-plans.ts';
import type { PodPlan } from '../scenario/plans.ts';

const POOL = 'node';

/** The scheduler's part of ResourceClaims: allocates devices to claims before their pods are bound. */
export class ClaimScheduler {
  readonly #server: FakeApiServer;
  readonly #namespace: string;
  readonly #devices: readonly string[];

  constructor(server: FakeApiServer, namespace: string, devices: number) {
    this.#server = server;
    this.#namespace = namespace;
    this.#devices = Array.from({ length: devices }, (_, index) => `r${index}`);
  }

  /**
   * Allocates a device to the pod's claim and reserves the claim for the pod.
   * @returns whether the pod can be bound; false while all devices are in use
   */
  allocate(pod: PodPlan): boolean {
    if (pod.claim === undefined) return true;
    this.#releaseUnused();
    const name = claimName(pod);
    const claims = this.#claims();
    const present = claims.find(({ metadata }) => metadata.name === name);
    const taken = new Set(claims.flatMap((claim) => deviceOf(claim) ?? []));
    const device = (present && deviceOf(present)) ?? this.#devices.find((one) => !taken.has(one));
    if (device === undefined) return false;
    const reservedFor = [...(present?.status?.reservedFor ?? []), { resource: 'pods', name: pod.name, uid: pod.uid }];
    const result = { request: 'device', driver: DRA_DRIVER, pool: POOL, device };
    this.#put(name, { allocation: { devices: { results: [result] } }, reservedFor });
    return true;
  }

  /** Returns the device that is allocated to a claim. */
  deviceOf(name: string): string | undefined {
    const claim = this.#claims().find(({ metadata }) => metadata.name === name);
    return claim && deviceOf(claim);
  }

  /** Deallocates the claims that no unfinished pod uses any more. */
  #releaseUnused(): void {
    const pods = this.#server.objects('pods') as unknown as readonly PodLike[];
    const active = pods.filter(({ status }) => status?.phase !== 'Succeeded' && status?.phase !== 'Failed');
    const uids = new Set(active.map(({ metadata }) => metadata.uid));
    for (const { metadata, status } of this.#claims()) {
      const reservedFor = (status?.reservedFor ?? []).filter(({ uid }) => uids.has(uid));
      if (status?.allocation !== undefined && reservedFor.length === 0) this.#put(metadata.name, {});
    }
  }

  #put(name: string, status: object): void {
    const metadata = { name, namespace: this.#namespace, uid: `${name}-uid` };
    const spec = { devices: { requests: [{ name: 'device', exactly: { deviceClassName: 'device' } }] } };
    this.#server.put({ apiVersion: 'resource.k8s.io/v1', kind: 'ResourceClaim', metadata, spec, status } as never);
  }

  #claims(): readonly ClaimLike[] {
    return this.#server.objects('resourceclaims') as unknown as readonly ClaimLike[];
  }
}

function deviceOf({ status }: ClaimLike): string | undefined {
  return status?.allocation?.devices.results[0]?.device;
}

interface ClaimLike {
  readonly metadata: { readonly name: string };
  readonly status?: {
    readonly allocation?: { readonly devices: { readonly results: readonly { readonly device: string }[] } };
    readonly reservedFor?: readonly { readonly uid: string }[];
  };
}

interface PodLike {
  readonly metadata: { readonly uid: string };
  readonly status?: { readonly phase?: string };
}
