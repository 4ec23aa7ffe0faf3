import type { ContainerRow, PodRow } from '../wire.ts';

/** Meaning of a state, for its colour. The state is always also written as text. */
export type Tone = 'good' | 'busy' | 'bad' | 'done';

/** Returns the tone of a pod: `busy` if it starts or stops, `bad` if something failed. */
export function podTone({ status, isReady, containers }: Pick<PodRow, 'status' | 'isReady' | 'containers'>): Tone {
  if (status === 'Completed' || status === 'Succeeded') return 'done';
  if (status === 'Terminating') return 'busy';
  if (isReady) return 'good';
  return status === 'Failed' ||
    containers.some((one) => containerTone(one) === 'bad') ||
    /Err|BackOff|Evicted|OOM|Invalid/.test(status)
    ? 'bad'
    : 'busy';
}

/** Returns the tone of a container. */
export function containerTone({ state, reason = '', exitCode, ready }: ContainerRow): Tone {
  if (state === 'running') return ready ? 'good' : 'busy';
  if (state === 'terminated') return exitCode === 0 ? 'done' : 'bad';
  return /Err|BackOff|Invalid|Never/.test(reason) ? 'bad' : 'busy';
}
