import type { SpecResult } from './specs.ts';

/** Specs that this kubelet fails on purpose, with the behaviour that docs/differences.md explains. */
const RULES: readonly { readonly spec: RegExp; readonly behaviour: string }[] = [
  {
    spec: /Device Plugin .*Does not keep device plugin assignments across node reboots if fails admission/,
    behaviour: 'a pod waits for the device plugin after a reboot, and is not rejected',
  },
];

/** Returns the deliberate behaviour because of which this kubelet fails a spec; `undefined` if there is none. */
export function deliberateBehaviour({ name }: Pick<SpecResult, 'name'>): string | undefined {
  return RULES.find(({ spec }) => spec.test(name))?.behaviour;
}
