import type { RuntimeFeatures } from './runtime-features.ts';

interface DeclaredFeature {
  readonly gate: string;
  readonly needs?: (runtime: RuntimeFeatures | undefined) => boolean;
}

// component-helpers/nodedeclaredfeatures/features: a feature is declared under the name of its gate.
const FEATURES: readonly DeclaredFeature[] = [
  { gate: 'ExtendWebSocketsToKubelet' },
  { gate: 'InPlacePodLevelResourcesVerticalScaling' },
  { gate: 'InPlacePodVerticalScalingInitContainers' },
  { gate: 'RestartAllContainersOnContainerExits' },
  {
    gate: 'UserNamespacesHostNetworkSupport',
    needs: (runtime) => runtime?.userNamespacesHostNetwork === true,
  },
];

/**
 * Returns the features that a scheduler must not take for granted (KEP-5328), sorted: those whose gate is enabled and
 * which the runtime supports.
 *
 * @param enabled returns whether a feature gate is enabled; false for unknown gates
 */
export function declaredFeatures(
  enabled: (gate: string) => boolean,
  runtime: RuntimeFeatures | undefined,
): readonly string[] {
  return FEATURES.filter(({ gate, needs }) => enabled(gate) && (needs === undefined || needs(runtime))).map(
    ({ gate }) => gate,
  );
}
