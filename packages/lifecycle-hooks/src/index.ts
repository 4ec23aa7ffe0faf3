export type { LifecycleHooksComponents } from './components.ts';
export { LifecycleHookError, type LifecycleHookErrorCode } from './errors.ts';
export { LifecycleHooks } from './lifecycle-hooks.ts';
