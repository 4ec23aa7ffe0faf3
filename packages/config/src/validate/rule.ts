import type { FeatureGates } from '../feature-gates/feature-gates.ts';
import type { KubeletConfiguration } from '../generated/kubelet-configuration.ts';

/** Something that is not allowed, at the field that an operator would change first. */
export interface Violation {
  /** In the names of the file. */
  readonly path: string;
  readonly message: string;
}

/** What the rules know beside the configuration. */
export interface ValidationContext {
  readonly gates: FeatureGates;
  /** The host's cgroup version; rules about it are left out where it is not known. */
  readonly cgroupVersion: 1 | 2 | undefined;
}

/** A rule that looks at more than one value. */
export type Rule = (configuration: KubeletConfiguration, context: ValidationContext) => readonly Violation[];

/** A violation where the condition holds, else none. */
export function when(condition: boolean, path: string, message: string): readonly Violation[] {
  return condition ? [{ path, message }] : [];
}
