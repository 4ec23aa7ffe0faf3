import { describe, expect, it } from 'vitest';
import { featureNames, isFeatureName, specOf } from '../src/feature-gates/feature-gates.ts';
import { gatesWithoutEffect } from '../src/feature-gates/feature-support.ts';
import { featureDependencies } from '../src/feature-gates/known-features.ts';
import { resolveFeatureGates } from '../src/index.ts';
import { file, load, refusal } from './memory-files.ts';

describe('known feature gates', () => {
  it('knows the feature gates of Kubernetes 1.36 with their defaults', () => {
    const count = (stage: string, on: boolean, locked: boolean): number =>
      featureNames.map(specOf).filter((spec) => spec[0] === stage && spec[1] === on && Boolean(spec[2]) === locked)
        .length;
    expect(featureNames).toHaveLength(240);
    // The group gates AllAlpha and AllBeta are not counted here.
    expect(count('Alpha', false, false)).toBe(49);
    expect(count('Beta', true, false)).toBe(88);
    expect(count('Beta', false, false)).toBe(11);
    expect(count('GA', true, true)).toBe(71);
    expect(count('GA', true, false)).toBe(5);
    expect(count('Deprecated', false, false)).toBe(7);
    expect(count('Deprecated', true, false)).toBe(4);
    expect(count('Deprecated', false, true)).toBe(3);
    expect(count('Deprecated', true, true)).toBe(2);
  });

  it('feature gates that are on by default depend only on gates that are on by default', () => {
    expect(resolveFeatureGates({}).problems).toEqual([]);
    for (const needs of Object.values(featureDependencies))
      for (const name of needs) expect(isFeatureName(name)).toBe(true);
  });

  it('a feature gate is effective if it is on and this kubelet implements it', () => {
    const { gates } = resolveFeatureGates({ ContainerStopSignals: true, EventedPLEG: true });
    expect(gates.effective('ContainerStopSignals')).toBe(true);
    expect(gates.enabled('EventedPLEG')).toBe(true);
    expect(gates.effective('EventedPLEG')).toBe(false);
    expect(resolveFeatureGates({ ContainerStopSignals: false }).gates.effective('ContainerStopSignals')).toBe(false);
  });

  it('a default-on feature gate without an implementation is not effective, so the node does not declare the feature', () => {
    const { gates } = resolveFeatureGates({});
    expect(gates.effective('NodeDeclaredFeatures')).toBe(true);
    expect(gates.effective('ExtendWebSocketsToKubelet')).toBe(true);
    expect(gates.effective('WindowsGracefulNodeShutdown')).toBe(false);
    expect(gates.effective('RestartAllContainersOnContainerExits')).toBe(true);
  });

  it('no locked feature gate is listed as a gate without effect', () => {
    for (const name of gatesWithoutEffect) expect(specOf(name)[2], name).not.toBe(true);
  });
});

describe('resolveFeatureGates', () => {
  it.each([
    [{ MemoryQoS: true }, 'MemoryQoS', true],
    [{}, 'MemoryQoS', false],
    [{}, 'KubeletCrashLoopBackOffMax', true],
    [{ AllAlpha: true }, 'MemoryQoS', true],
    [{ AllAlpha: true, MemoryQoS: false }, 'MemoryQoS', false],
    [{ MemoryQoS: false, AllAlpha: true }, 'MemoryQoS', false],
    [{ AllAlpha: false }, 'MemoryQoS', false],
    [{ AllBeta: true }, 'RotateKubeletServerCertificate', true],
    [{ AllBeta: false }, 'KubeletCrashLoopBackOffMax', false],
    [{ AllBeta: false, KubeletCrashLoopBackOffMax: true }, 'KubeletCrashLoopBackOffMax', true],
    [{ AllAlpha: true }, 'NodeSwap', true],
  ] as const)('with the feature gates %j, the gate %s is %s', (requested, name, enabled) => {
    const { gates } = resolveFeatureGates(requested);
    expect(gates.enabled(name)).toBe(enabled);
    expect(new Map(gates.entries()).get(name)).toBe(enabled);
  });

  it.each([
    [{ Nope: true }, 'unrecognized feature gate: Nope'],
    [{ memoryQoS: true }, 'unrecognized feature gate: memoryQoS'],
    [{ NodeSwap: false }, 'cannot set feature gate NodeSwap to false, feature is locked to true'],
    [
      { DRAAdminAccess: true, DynamicResourceAllocation: false },
      'cannot set feature gate DynamicResourceAllocation to false, feature is locked to true',
    ],
    [
      { ClusterTrustBundleProjection: true, ClusterTrustBundle: false },
      'ClusterTrustBundleProjection is enabled, but depends on features that are disabled: ClusterTrustBundle',
    ],
  ])('refuses the feature gates %j with the problem: %s', (requested, message) => {
    expect(resolveFeatureGates(requested).problems.map((problem) => problem.message)).toEqual([message]);
  });

  it.each([
    [{ NodeSwap: true }, ['setting GA feature gate NodeSwap=true; it will be removed in a future release']],
    [{ PodsAPI: true }, ['PodsAPI=true has no effect: this kubelet does not implement that feature gate yet']],
    [{ PodsAPI: false }, []],
    [{ QOSReserved: true }, []],
    [{ MemoryQoS: true }, []],
    [{ KubeletCrashLoopBackOffMax: false }, []],
    // A gate of the scheduler has no effect on a kubelet, here as upstream.
    [{ SchedulerAsyncPreemption: false }, []],
  ])('the feature gates %j cause the warnings %j', (requested, messages) => {
    expect(resolveFeatureGates(requested).warnings.map(({ message }) => message)).toEqual(messages);
  });

  it('AllAlpha warns about the gates that it would enable but that have no effect', () => {
    const { problems, warnings } = resolveFeatureGates({ AllAlpha: true });
    expect(problems).toEqual([]);
    expect(warnings.map(({ message }) => message)).toEqual([
      expect.stringMatching(/^AllAlpha=true has no effect .*PodsAPI/),
    ]);
  });
});

describe('feature gates of a configuration', () => {
  it('refuses an unknown feature gate with its position in the file', async () => {
    expect((await refusal({ config: file('featureGates:\n  Nope: true\n') })).message).toBe(
      '/etc/kubelet/config.yaml:4:9: featureGates.Nope: unrecognized feature gate: Nope',
    );
  });

  it('a loaded configuration reports which feature gates are enabled', async () => {
    const { featureGates } = await load({ argv: ['--feature-gates=CustomCPUCFSQuotaPeriod=true'] });
    expect(featureGates.enabled('CustomCPUCFSQuotaPeriod')).toBe(true);
  });
});
