import type { SpecResult } from './specs.ts';

/** Specs that this kubelet fails on purpose, with the behaviour that docs/differences.md explains. */
const RULES: readonly { readonly spec: RegExp; readonly behaviour: string }[] = [
  {
    spec: /Does not keep device plugin assignments across node reboots if fails admission|fail with admission error after kubelet restart in case device plugin hasn't re-registered/,
    behaviour: 'after a reboot, a pod waits for its device plugin and is not rejected',
  },
];

/** Returns the deliberate behaviour because of which this kubelet fails a spec; `undefined` if there is none. */
export function deliberateBehaviour({ name }: Pick<SpecResult, 'name'>): string | undefined {
  return RULES.find(({ spec }) => spec.test(name))?.behaviour;
}
