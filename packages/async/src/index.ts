export { type Clock, sleep, systemClock, type Timer } from './clock.ts';
export { jitter, type Random, seededRandom, systemRandom } from './random.ts';
