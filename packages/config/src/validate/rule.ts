import type { FeatureGates } from '../feature-gates/feature-gates.ts';
import type { KubeletConfiguration } from '../generated/kubelet-configuration.ts';

/** Violation of a rule, with the path of the field that an operator would change first. */
export interface Violation {
  /** Path with the field names of the file. */
  readonly path: string;
  readonly message: string;
}

/** Data that the rules need besides the configuration. */
export interface ValidationContext {
  readonly gates: FeatureGates;
  /** Cgroup version of the host. If the version is unknown, rules that depend on it are skipped. */
  readonly cgroupVersion: 1 | 2 | undefined;
}

/** A rule that involves more than one value. */
export type Rule = (configuration: KubeletConfiguration, context: ValidationContext) => readonly Violation[];

/** Returns a violation if the condition is true, otherwise none. */
export function when(condition: boolean, path: string, message: string): readonly Violation[] {
  return condition ? [{ path, message }] : [];
}
