import { describe, expect, it } from 'vitest';
import { applyDefaults } from '../src/defaults.ts';
import { defaultConfiguration, resolveFeatureGates } from '../src/index.ts';
import { file, load } from './memory-files.ts';

/**
 * The fields for which upstream has a default and whose Go type is not a pointer: upstream treats their zero value as
 * unset.
 */
const ZERO_IS_UNSET = `
syncFrequency: 0s
fileCheckFrequency: 0s
httpCheckFrequency: 0s
address: ""
port: 0
authentication: {webhook: {cacheTTL: 0s}}
authorization: {mode: "", webhook: {cacheAuthorizedTTL: 0s, cacheUnauthorizedTTL: 0s}}
registryBurst: 0
eventBurst: 0
healthzBindAddress: ""
streamingConnectionIdleTimeout: 0s
nodeStatusReportFrequency: 0s
nodeStatusUpdateFrequency: 0s
nodeLeaseDurationSeconds: 0
imageMinimumGCAge: 0s
volumeStatsAggPeriod: 0s
cgroupDriver: ""
cpuManagerPolicy: ""
cpuManagerReconcilePeriod: 0s
memoryManagerPolicy: ""
topologyManagerPolicy: ""
topologyManagerScope: ""
runtimeRequestTimeout: 0s
hairpinMode: ""
maxPods: 0
maxOpenFiles: 0
contentType: ""
kubeAPIBurst: 0
evictionPressureTransitionPeriod: 0s
containerLogMaxSize: ""
configMapAndSecretChangeDetectionStrategy: ""
volumePluginDir: ""
memoryReservationPolicy: ""
containerRuntimeEndpoint: ""
podLogsDir: ""
imagePullCredentialsVerificationPolicy: ""
logging: {format: "", flushFrequency: 0s}
`
  .trim()
  .split('\n');

describe('zero values in a configuration file', () => {
  it.each(ZERO_IS_UNSET)(
    "a zero value in a file is replaced by the default, because upstream's field is not a pointer: %s",
    async (body) => {
      expect((await load({ config: file(body) })).configuration).toEqual(defaultConfiguration());
    },
  );

  it('a zero duration in nanoseconds in a file is replaced by the default', async () => {
    const { configuration } = await load({ config: file('logging: {flushFrequency: 0}') });
    expect(configuration).toEqual(defaultConfiguration());
  });

  it.each([
    ['enableServer: false', { enableServer: false }],
    ['registryPullQPS: 0', { registryPullQPS: 0 }],
    ['eventRecordQPS: 0', { eventRecordQPS: 0 }],
    ['enableDebuggingHandlers: false', { enableDebuggingHandlers: false }],
    ['healthzPort: 0', { healthzPort: 0 }],
    ['oomScoreAdj: 0', { oomScoreAdj: 0 }],
    ['imageGCLowThresholdPercent: 0', { imageGCLowThresholdPercent: 0 }],
    ['podPidsLimit: 0', { podPidsLimit: 0 }],
    ['resolvConf: ""', { resolvConf: '' }],
    ['cpuCFSQuota: false', { cpuCFSQuota: false }],
    ['nodeStatusMaxImages: 0', { nodeStatusMaxImages: 0 }],
    ['kubeAPIQPS: 0', { kubeAPIQPS: 0 }],
    ['serializeImagePulls: false', { serializeImagePulls: false }],
    ['iptablesMasqueradeBit: 0\niptablesDropBit: 0', { iptablesMasqueradeBit: 0, iptablesDropBit: 0 }],
    ['failSwapOn: false', { failSwapOn: false }],
    ['enforceNodeAllocatable: []', { enforceNodeAllocatable: [] }],
    ['registerNode: false', { registerNode: false }],
    ['failCgroupV1: false', { failCgroupV1: false }],
  ])("a zero value in a file is kept, because upstream's field is a pointer: %s", async (body, set) => {
    expect((await load({ config: file(body) })).configuration).toEqual(defaultConfiguration(set));
  });
});

describe('applyDefaults', () => {
  it('applyDefaults adds no property for fields without a default', () => {
    const draft = applyDefaults({}, resolveFeatureGates({}).gates);
    for (const name of ['tracing', 'userNamespaces', 'maxParallelImagePulls']) expect(draft).not.toHaveProperty(name);
  });

  it('applyDefaults fills in the defaults of list items', () => {
    const taints = [{ key: 'a' }, { key: 'b', effect: 'NoExecute' }];
    expect(applyDefaults({ registerWithTaints: taints }, resolveFeatureGates({}).gates).registerWithTaints).toEqual([
      { key: 'a', value: '', effect: '' },
      { key: 'b', value: '', effect: 'NoExecute' },
    ]);
  });
});
