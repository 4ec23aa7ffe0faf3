import { conditionOf, type Signal } from './signals.ts';

/**
 * Independent lanes of eviction work. `disk`: disk thresholds and local storage limits. `node`: all other thresholds.
 * Work in one lane does not wait for work in the other.
 */
export type Lane = 'disk' | 'node';

export const LANES: readonly Lane[] = ['disk', 'node'];

export function laneOf(signal: Signal): Lane {
  return conditionOf(signal) === 'DiskPressure' ? 'disk' : 'node';
}
