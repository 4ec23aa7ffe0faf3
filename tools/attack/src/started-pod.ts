import type { AttackScene } from './attack.ts';
import { delay } from './connections.ts';

/**
 * Waits until the kubelet has started a pod.
 * @returns the reason if the kubelet does not start the pod or does not respond; `undefined` if the pod was started
 */
export async function notStarted({ victim, signal }: AttackScene, key: string): Promise<string | undefined> {
  while (!signal.aborted) {
    const figures = await victim.figures();
    if (figures === undefined) return 'the kubelet does not answer';
    if (figures.started.includes(key)) return undefined;
    await delay(100);
  }
  return `${key} was not started`;
}
