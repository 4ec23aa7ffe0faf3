export { endPods } from './end-pods.ts';
export { ensurePrograms } from './install.ts';
export { resolvConfOf } from './kubelet-configuration.ts';
export { lockDirectory } from './lock.ts';
export { type EndingOptions, type EndingSignals, endingSignals } from './signals.ts';
