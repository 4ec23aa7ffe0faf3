import type { RuntimeFeatures } from './runtime-features.ts';

interface DeclaredFeature {
  readonly gate: string;
  readonly needs?: (runtime: RuntimeFeatures | undefined) => boolean;
}

// component-helpers/nodedeclaredfeatures/features: a feature is declared under its gate's name.
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
 * The features that a scheduler may not take for granted (KEP-5328), sorted: those whose gate is on, and which the runtime can do.
 *
 * @param enabled whether a feature gate is on; false for one that is not known
 */
export function declaredFeatures(
  enabled: (gate: string) => boolean,
  runtime: RuntimeFeatures | undefined,
): readonly string[] {
  return FEATURES.filter(({ gate, needs }) => enabled(gate) && (needs === undefined || needs(runtime))).map(
    ({ gate }) => gate,
  );
}
