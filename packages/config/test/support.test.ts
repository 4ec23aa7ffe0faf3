import { describe, expect, it } from 'vitest';
import { formatIssue } from '../src/index.ts';
import type { Field } from '../src/schema/field.ts';
import { configurationFields } from '../src/schema/kubelet-configuration.ts';
import { file, load, refusal } from './memory-files.ts';

/** Returns the paths of the fields about which loading the configuration warns. */
async function warned(body: string): Promise<string[]> {
  const { warnings } = await load({ config: file(body) });
  return warnings.map(({ path }) => path).filter((path) => path !== '');
}

describe('fields that are not supported yet', () => {
  it.each([['enableControllerAttachDetach: false', 'enableControllerAttachDetach', 'does not attach volumes']])(
    'refuses %s because it is not supported yet',
    async (body, path, because) => {
      const error = await refusal({ config: file(body) });
      expect(error.code).toBe('unsupported');
      expect(error.message).toMatch(/config\.yaml:3:\d+: .* is not supported yet: /);
      expect(error.issues.find((issue) => issue.path === path)?.message).toContain(because);
    },
  );

  it.each([
    ['enableContentionProfiling: true\nenableSystemLogQuery: true', ['enableContentionProfiling']],
    ['contentType: text/plain', ['contentType']],
  ])('warns that %s has no effect yet', async (body, paths) => {
    expect(await warned(body)).toEqual(paths);
  });

  it.each([
    'imageMinimumGCAge: 1m\nimageMaximumGCAge: 24h\nimageGCHighThresholdPercent: 90\nimageGCLowThresholdPercent: 60',
    'port: 10251\ntlsCertFile: /a\ntlsPrivateKeyFile: /b\nauthentication: {x509: {clientCAFile: /ca.crt}, webhook: {cacheTTL: 1m}}',
    'port: 10250\naddress: 0.0.0.0\npodPidsLimit: -1\ncgroupRoot: ""\nevictionPressureTransitionPeriod: 300s',
    'evictionHard: {memory.available: 1Gi}\nevictionPressureTransitionPeriod: 1m\nevictionMaxPodGracePeriod: 30',
    'evictionSoft: {pid.available: 5%}\nevictionSoftGracePeriod: {pid.available: 1m}\nkernelMemcgNotification: true',
    'enableServer: false\nenableDebuggingHandlers: false\nfailSwapOn: false\nlocalStorageCapacityIsolation: false',
    'imagePullCredentialsVerificationPolicy: AlwaysVerify',
    'shutdownGracePeriod: 30s\nshutdownGracePeriodCriticalPods: 10s',
    'shutdownGracePeriodByPodPriority: [{priority: 100, shutdownGracePeriodSeconds: 5}]',
    'shutdownGracePeriod: 30s\nfeatureGates: {GracefulNodeShutdownBasedOnPodPriority: false}',
    'memorySwap: {swapBehavior: LimitedSwap}\nfailSwapOn: true\nprotectKernelDefaults: true',
    'enforceNodeAllocatable: [pods, kube-reserved]\nkubeReservedCgroup: /k\nkubeletCgroups: /kubelet',
    'reservedSystemCPUs: 0-1\nsystemCgroups: /x\ncgroupRoot: /x',
    'memoryReservationPolicy: TieredReservation\nmemoryThrottlingFactor: 0.8\nfeatureGates: {MemoryQoS: true}',
    'memoryThrottlingFactor: 1.0\nfeatureGates: {MemoryQoS: true}',
    'cgroupsPerQOS: false\nenforceNodeAllocatable: [none]',
    'cgroupRoot: /x\npodPidsLimit: 100\ncgroupDriver: systemd\nenforceNodeAllocatable: [pods]\nsingleProcessOOMKill: true',
    'streamingConnectionIdleTimeout: 1h\nhairpinMode: none\niptablesDropBit: 3',
    'registerNode: false',
    'tracing: {samplingRatePerMillion: 1, endpoint: "otel:4317"}\nuserNamespaces: {}',
    'contentType: application/json\nmakeIPTablesUtilChains: false',
    'contentType: application/vnd.kubernetes.protobuf\nmakeIPTablesUtilChains: true',
    'cpuManagerPolicy: static\ncpuManagerPolicyOptions: {full-pcpus-only: "true"}\ntopologyManagerScope: pod',
    'memoryManagerPolicy: Static\nreservedMemory: [{numaNode: 0, limits: {memory: 1Gi}}]',
    'topologyManagerPolicy: restricted\ntopologyManagerPolicyOptions: {prefer-closest-numa-nodes: "true"}',
    'enableControllerAttachDetach: true\nmaxOpenFiles: 1000000\ncpuManagerReconcilePeriod: 5s',
  ])('does not warn about an unsupported field whose value requests the existing behaviour: %j', async (body) => {
    expect(await warned(body)).toEqual([]);
  });

  it('the error about an unsupported field names the flag that set it', async () => {
    expect((await refusal({ argv: ['--enable-controller-attach-detach=false'] })).message).toMatch(
      /^--enable-controller-attach-detach: enableControllerAttachDetach: is not supported yet/,
    );
    const { warnings } = await load({ argv: ['--contention-profiling'] });
    expect(warnings.map(formatIssue)).toContain(
      '--contention-profiling: enableContentionProfiling: has no effect yet: Node.js has no such profile',
    );
  });

  it('the error about an unsupported field has the position of its value', async () => {
    const error = await refusal({ config: file('enableControllerAttachDetach: false\n') });
    expect(error.issues.map(formatIssue)).toEqual([
      expect.stringMatching(/^\/etc\/kubelet\/config\.yaml:3:31: enableControllerAttachDetach: is not supported yet: /),
    ]);
  });

  it("every unsupported field has a reason that reads as a sentence after the field's path", () => {
    const visit = (fields: readonly Field[]): readonly Field[] =>
      fields.flatMap((line) => (line.type.kind === 'object' ? visit(line.type.fields) : [line]));
    for (const { name, support } of visit(configurationFields)) {
      if (support.state !== 'supported') expect(support.because, name).toMatch(/^[a-zA-Z'].*[a-zA-Z]$/);
    }
  });
});
