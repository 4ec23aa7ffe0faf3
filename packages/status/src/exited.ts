import type { ContainerState, EndedContainer } from '@node-agent/pod-spec';

export type Terminated = NonNullable<ContainerState['terminated']>;

/** Converts a terminated state to the runtime's form. */
export function exited({ exitCode, reason = '' }: Terminated): EndedContainer {
  return { state: 'exited', exitCode, reason };
}
