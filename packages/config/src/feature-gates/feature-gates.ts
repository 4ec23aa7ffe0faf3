import { gatesWithoutEffect } from './feature-support.ts';
import {
  type FeatureName,
  type FeatureSpec,
  type FeatureStage,
  featureDependencies,
  knownFeatures,
} from './known-features.ts';

/** Gates that stand for all gates of a stage that are not named themselves. */
const GROUPS = { AllAlpha: 'Alpha', AllBeta: 'Beta' } as const;

/** Something to say about one gate. */
export interface FeatureGateMessage {
  readonly gate: string;
  readonly message: string;
}

/** What came of a request for feature gates. */
export interface ResolvedFeatureGates {
  readonly gates: FeatureGates;
  /** Why the request is refused; empty where it is not. */
  readonly problems: readonly FeatureGateMessage[];
  readonly warnings: readonly FeatureGateMessage[];
}

/** Which features are on. Made by {@link resolveFeatureGates}. */
export interface FeatureGates {
  /** Whether a feature is on. */
  enabled(name: FeatureName): boolean;
  /** Whether a gate is on and switches something here: what a node may say of itself. */
  effective(name: FeatureName): boolean;
  /** How far the feature of a gate has come. */
  stage(name: FeatureName): FeatureStage;
  /** Every known gate with its value, by name. */
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

/** Whether 1.36 knows a gate of this name; `AllAlpha` and `AllBeta` are not gates of a feature. */
export function isFeatureName(name: string): name is FeatureName {
  return Object.hasOwn(knownFeatures, name);
}

export function specOf(name: FeatureName): FeatureSpec {
  return knownFeatures[name];
}

/**
 * Decides which features are on: those named as they are named, `AllAlpha` and `AllBeta` for the others of their
 * stage, else the default. An unknown gate, a change to a locked one, and a feature that is on without one that it
 * needs are problems (k8s.io/component-base/featuregate).
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
        message: `${group}=${value} has no effect on what this kubelet has not got yet: ${changed.join(', ')}`,
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
    return [{ gate, message: `${gate}=${value} has no effect: this kubelet has not got that feature's switch yet` }];
  }
  if (stage !== 'GA' && stage !== 'Deprecated') return [];
  const kind = stage === 'GA' ? 'GA' : 'deprecated';
  return [{ gate, message: `setting ${kind} feature gate ${gate}=${value}; it will be removed in a future release` }];
}

/** Sets the gates of a stage that nobody named, and tells which of those that changed have no effect here. */
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
