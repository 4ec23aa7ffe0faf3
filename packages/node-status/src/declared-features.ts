import type { RuntimeFeatures } from './runtime-features.ts';

interface DeclaredFeature {
  readonly gate: string;
  readonly needs?: (runtime: RuntimeFeatures | undefined) => boolean;
}

// The features that component-helpers declares (`nodedeclaredfeatures/features`). Each is declared under the name of
// its feature gate.
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
 * Returns the node's declared features (KEP-5328), which a scheduler cannot assume on every node, sorted. A feature is
 * declared if its gate is enabled and the runtime supports it.
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
