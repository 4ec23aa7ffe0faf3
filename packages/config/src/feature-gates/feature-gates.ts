import { gatesWithoutEffect } from './feature-support.ts';
import {
  type FeatureName,
  type FeatureSpec,
  type FeatureStage,
  featureDependencies,
  knownFeatures,
} from './known-features.ts';

/** Gates that set all gates of a stage, except gates that are set explicitly. */
const GROUPS = { AllAlpha: 'Alpha', AllBeta: 'Beta' } as const;

/** A message about one gate. */
export interface FeatureGateMessage {
  readonly gate: string;
  readonly message: string;
}

/** Result of a request for feature gates. */
export interface ResolvedFeatureGates {
  readonly gates: FeatureGates;
  /** Reasons why the request is refused; empty if it is not. */
  readonly problems: readonly FeatureGateMessage[];
  readonly warnings: readonly FeatureGateMessage[];
}

/** The enabled features. Created by {@link resolveFeatureGates}. */
export interface FeatureGates {
  /** Returns whether a feature is enabled. */
  enabled(name: FeatureName): boolean;
  /** Returns whether a gate is enabled and implemented in this kubelet, so that the node may report the feature. */
  effective(name: FeatureName): boolean;
  /** Returns the stage of a gate's feature. */
  stage(name: FeatureName): FeatureStage;
  /** Returns every known gate with its value, sorted by name. */
  entries(): readonly (readonly [FeatureName, boolean])[];
}

class ResolvedGates implements FeatureGates {
  readonly #values: ReadonlyMap<FeatureName, boolean>;

  constructor(values: ReadonlyMap<FeatureName, boolean>) {
    this.#values = values;
  }

  enabled(name: FeatureName): boolean {
    return this.#values.get(name) ?? specOf(name)[1];
  }

  effective(name: FeatureName): boolean {
    return this.enabled(name) && !gatesWithoutEffect.has(name);
  }

  stage(name: FeatureName): FeatureStage {
    return specOf(name)[0];
  }

  entries(): readonly (readonly [FeatureName, boolean])[] {
    return featureNames.map((name) => [name, this.enabled(name)] as const);
  }
}

export const featureNames: readonly FeatureName[] = Object.keys(knownFeatures).filter(isFeatureName).sort();

/** Returns whether Kubernetes 1.36 knows a gate of this name. `AllAlpha` and `AllBeta` are not gates of a feature. */
export function isFeatureName(name: string): name is FeatureName {
  return Object.hasOwn(knownFeatures, name);
}

export function specOf(name: FeatureName): FeatureSpec {
  return knownFeatures[name];
}

/**
 * Determines which features are enabled: explicitly named gates get their value, `AllAlpha` and `AllBeta` set the other
 * gates of their stage, and the rest have their defaults. Problems are: an unknown gate, a change of a locked gate, and
 * an enabled feature without a feature that it requires (k8s.io/component-base/featuregate).
 */
export function resolveFeatureGates(requested: Readonly<Record<string, boolean>>): ResolvedFeatureGates {
  const problems: FeatureGateMessage[] = [];
  const warnings: FeatureGateMessage[] = [];
  const values = new Map<FeatureName, boolean>();
  for (const [gate, value] of Object.entries(requested)) {
    if (Object.hasOwn(GROUPS, gate)) continue;
    if (!isFeatureName(gate)) {
      problems.push({ gate, message: `unrecognized feature gate: ${gate}` });
      continue;
    }
    const [stage, enabledByDefault, locked] = specOf(gate);
    if (locked && value !== enabledByDefault) {
      problems.push({
        gate,
        message: `cannot set feature gate ${gate} to ${value}, feature is locked to ${enabledByDefault}`,
      });
      continue;
    }
    values.set(gate, value);
    warnings.push(...warningsFor(gate, value, stage, enabledByDefault));
  }
  for (const [group, stage] of Object.entries(GROUPS)) {
    const value = requested[group];
    if (value === undefined) continue;
    const changed = applyGroup(values, stage, value);
    if (changed.length > 0) {
      warnings.push({
        gate: group,
        message: `${group}=${value} has no effect on features that this kubelet does not implement yet: ${changed.join(', ')}`,
      });
    }
  }
  const gates = new ResolvedGates(values);
  if (problems.length === 0) problems.push(...missingDependencies(gates));
  return { gates, problems, warnings };
}

function warningsFor(
  gate: FeatureName,
  value: boolean,
  stage: FeatureSpec[0],
  enabledByDefault: boolean,
): readonly FeatureGateMessage[] {
  if (gatesWithoutEffect.has(gate) && value !== enabledByDefault) {
    return [{ gate, message: `${gate}=${value} has no effect: this kubelet does not implement that feature gate yet` }];
  }
  if (stage !== 'GA' && stage !== 'Deprecated') return [];
  const kind = stage === 'GA' ? 'GA' : 'deprecated';
  return [{ gate, message: `setting ${kind} feature gate ${gate}=${value}; it will be removed in a future release` }];
}

/**
 * Sets the gates of a stage that have no value yet. Returns those gates that differ from their default and have no
 * effect in this kubelet.
 */
function applyGroup(values: Map<FeatureName, boolean>, stage: FeatureSpec[0], value: boolean): readonly FeatureName[] {
  const changed: FeatureName[] = [];
  for (const name of featureNames) {
    const [own, enabledByDefault] = specOf(name);
    if (own !== stage || values.has(name)) continue;
    values.set(name, value);
    if (value !== enabledByDefault && gatesWithoutEffect.has(name)) changed.push(name);
  }
  return changed;
}

function missingDependencies(gates: FeatureGates): readonly FeatureGateMessage[] {
  return featureNames.flatMap((gate) => {
    if (!gates.enabled(gate)) return [];
    const missing = (featureDependencies[gate] ?? []).filter((name) => !gates.enabled(name));
    if (missing.length === 0) return [];
    return [{ gate, message: `${gate} is enabled, but depends on features that are disabled: ${missing.join(', ')}` }];
  });
}
