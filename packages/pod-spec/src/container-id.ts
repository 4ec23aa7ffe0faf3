import { PodSpecError } from './errors.ts';

/** A container ID in the format of a pod's status: `containerd://4c01...`. */
export interface ContainerId {
  /** Name of the runtime. */
  readonly runtime: string;
  /** ID of the container in the runtime. */
  readonly id: string;
}

/** @throws PodSpecError `InvalidContainerId` for anything but `runtime://id` */
export function parseContainerId(text: string): ContainerId {
  const [runtime, id, ...rest] = text.replace(/^"+|"+$/g, '').split('://');
  if (runtime === undefined || id === undefined || rest.length > 0) {
    throw new PodSpecError('InvalidContainerId', `invalid container ID: ${JSON.stringify(text)}`);
  }
  return { runtime, id };
}

export function formatContainerId(id: ContainerId): string {
  return `${id.runtime}://${id.id}`;
}

/** Returns the runtime's ID of a container from its ID in a pod's status; empty if there is none. Never throws. */
export function bareContainerId(text: string | undefined): string {
  if (text === undefined) return '';
  const at = text.indexOf('://');
  return at < 0 ? '' : text.slice(at + 3);
}
