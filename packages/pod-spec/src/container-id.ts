import { PodSpecError } from './errors.ts';

/** A container's id as a pod's status has it: `containerd://4c01...`. */
export interface ContainerId {
  /** The runtime's name. */
  readonly runtime: string;
  /** What the runtime itself calls the container. */
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

/** What the runtime calls the container, of an id as a pod's status has it; '' where it has none. Never throws. */
export function bareContainerId(text: string | undefined): string {
  if (text === undefined) return '';
  const at = text.indexOf('://');
  return at < 0 ? '' : text.slice(at + 3);
}
