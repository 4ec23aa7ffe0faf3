import { describe, expect, it } from 'vitest';
import { formatIssue } from '../src/index.ts';
import type { Field } from '../src/schema/field.ts';
import { configurationFields } from '../src/schema/kubelet-configuration.ts';
import { file, load, refusal } from './memory-files.ts';

/** The paths that a configuration is warned of. */
async function warned(body: string): Promise<string[]> {
  const { warnings } = await load({ config: file(body) });
  return warnings.map(({ path }) => path).filter((path) => path !== '');
}

describe('what is not there yet', () => {
  it.each([
    ['podPidsLimit: 100', 'podPidsLimit', 'not limited before pod cgroups are managed'],
    ['cgroupRoot: /x', 'cgroupRoot', 'no cgroup manager yet'],
    ['cpuManagerPolicy: static', 'cpuManagerPolicy', 'managers are not there yet'],
    ['memorySwap: {swapBehavior: LimitedSwap}', 'memorySwap.swapBehavior', 'no swap yet'],
    ['shutdownGracePeriod: 30s', 'shutdownGracePeriod', 'not delayed for pods yet'],
    [
      'enforceNodeAllocatable: [pods, kube-reserved]\nkubeReservedCgroup: /k',
      'enforceNodeAllocatable',
      'not held back yet',
    ],
    ['userNamespaces: {idsPerPod: 131072}', 'userNamespaces.idsPerPod', 'do not get user namespaces yet'],
    ['enableControllerAttachDetach: false', 'enableControllerAttachDetach', 'attaches no volumes itself'],
  ])('is refused: %s', async (body, path, because) => {
    const error = await refusal({ config: file(body) });
    expect(error.code).toBe('unsupported');
    expect(error.message).toMatch(/config\.yaml:3:\d+: .* is not supported yet: /);
    expect(error.issues.find((issue) => issue.path === path)?.message).toContain(because);
  });

  it.each([
    ['evictionHard: {memory.available: 1Gi}', ['evictionHard']],
    ['evictionPressureTransitionPeriod: 1m', ['evictionPressureTransitionPeriod']],
    ['imageGCHighThresholdPercent: 90', ['imageGCHighThresholdPercent']],
    ['authentication: {x509: {clientCAFile: /ca.crt}}', ['authentication.x509.clientCAFile']],
    ['port: 10251\ntlsCertFile: /a', ['port', 'tlsCertFile']],
    ['cgroupDriver: systemd', ['cgroupDriver']],
    ['tracing: {samplingRatePerMillion: 1}', ['tracing.samplingRatePerMillion']],
  ])('is warned of: %s', async (body, paths) => {
    expect(await warned(body)).toEqual(paths);
  });

  it.each([
    'port: 10250\naddress: 0.0.0.0\npodPidsLimit: -1\ncgroupRoot: ""\nevictionPressureTransitionPeriod: 300s',
    'evictionHard: {memory.available: 100Mi, nodefs.available: 0%}\n'.replace('100Mi', '100%'),
    'enableServer: false\nenableDebuggingHandlers: false\nfailSwapOn: false\nlocalStorageCapacityIsolation: false',
    'imagePullCredentialsVerificationPolicy: AlwaysVerify',
    'memorySwap: {swapBehavior: NoSwap}',
    'cgroupsPerQOS: false\nenforceNodeAllocatable: [none]',
    'streamingConnectionIdleTimeout: 1h\nhairpinMode: none\niptablesDropBit: 3',
    'registerNode: false',
    'tracing: {}\nuserNamespaces: {}',
  ])('is silent where the value asks for what happens anyway: %j', async (body) => {
    expect(await warned(body)).toEqual([]);
  });

  it('is named with the flag that asked for it', async () => {
    expect((await refusal({ argv: ['--cgroup-root=/x'] })).message).toMatch(
      /^--cgroup-root: cgroupRoot: is not supported yet/,
    );
    const { warnings } = await load({ argv: ['--port=10251'] });
    expect(warnings.map(formatIssue)).toContain('--port: port: has no effect yet: the secured server is not there yet');
  });

  it('is said of the default of cgroupsPerQOS once, and not of false', async () => {
    const about = async (body: string): Promise<number> =>
      (await load({ config: file(body) })).warnings.filter(({ message }) => message.includes('cgroupsPerQOS')).length;
    expect(await about('')).toBe(1);
    expect(await about('cgroupsPerQOS: false\nenforceNodeAllocatable: []')).toBe(0);
  });

  it('is said of every field that is unsupported, in a sentence that fits behind the path', () => {
    const visit = (fields: readonly Field[]): readonly Field[] =>
      fields.flatMap((line) => (line.type.kind === 'object' ? visit(line.type.fields) : [line]));
    for (const { name, support } of visit(configurationFields)) {
      if (support.state !== 'supported') expect(support.because, name).toMatch(/^[a-zA-Z'].*[a-zA-Z]$/);
    }
  });
});
