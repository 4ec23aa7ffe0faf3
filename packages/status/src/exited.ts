import type { ContainerState, EndedContainer } from '@node-agent/pod-spec';

export type Terminated = NonNullable<ContainerState['terminated']>;

/** How a container ended, in the words of the runtime. */
export function exited({ exitCode, reason = '' }: Terminated): EndedContainer {
  return { state: 'exited', exitCode, reason };
}
