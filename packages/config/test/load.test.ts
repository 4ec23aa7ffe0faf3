import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ConfigError, DEFAULT_EVICTION_HARD, formatOrigin, maskSecrets } from '../src/index.ts';
import { isObject, mergeLayer, setIn } from '../src/merge.ts';
import { Origins } from '../src/origins.ts';
import type { Field, Json } from '../src/schema/field.ts';
import { configurationFields } from '../src/schema/kubelet-configuration.ts';
import { file, load, refusal } from './memory-files.ts';

describe('precedence of flags, drop-ins and the configuration file', () => {
  const config = file('maxPods: 10\nport: 10\nhealthzPort: 10\nreadOnlyPort: 0\n');
  const dropIns = { '10-a.conf': file('port: 20\nhealthzPort: 20\n'), '20-b.conf': file('healthzPort: 30\n') };

  it('a flag takes precedence over drop-ins, a drop-in over the file, and the file over the default', async () => {
    const { configuration, origins } = await load({ config, dropIns, argv: ['--healthz-port=40'] });
    expect(configuration).toMatchObject({ maxPods: 10, port: 20, healthzPort: 40, registryBurst: 10 });
    expect(formatOrigin(origins.of('maxPods'))).toBe('/etc/kubelet/config.yaml:3:10');
    expect(formatOrigin(origins.of('port'))).toBe('/etc/kubelet/conf.d/10-a.conf:3:7');
    expect(origins.of('healthzPort')).toEqual({ source: 'flag', flag: 'healthz-port', text: '40' });
    expect(origins.of('registryBurst')).toEqual({ source: 'default' });
  });

  it('a later drop-in takes precedence over an earlier one', async () => {
    expect((await load({ config, dropIns })).configuration.healthzPort).toBe(30);
  });

  it('a flag takes precedence over the file even if its value is the default', async () => {
    expect((await load({ config, argv: ['--max-pods=110'] })).configuration.maxPods).toBe(110);
  });

  it('a flag may set a field to zero even if zero in a file counts as unset', async () => {
    expect((await load({ config: file('maxPods: 0\n') })).configuration.maxPods).toBe(110);
    expect((await load({ config, argv: ['--max-pods=0'] })).configuration.maxPods).toBe(0);
  });

  it('--seccomp-default=true takes precedence over the file, --seccomp-default=false does not', async () => {
    const on = file('seccompDefault: true\n');
    expect((await load({ config: on, argv: ['--seccomp-default=false'] })).configuration.seccompDefault).toBe(true);
    expect((await load({ argv: ['--seccomp-default'] })).configuration.seccompDefault).toBe(true);
    expect((await load({ argv: ['--seccomp-default=false'] })).configuration.seccompDefault).toBe(false);
  });

  it('flags replace maps and lists of the file as a whole, but feature gates one by one', async () => {
    const { configuration, origins } = await load({
      config: file(
        'evictionHard: {memory.available: 1Gi}\nclusterDNS: [10.0.0.1, 10.0.0.2]\nfeatureGates: {CustomCPUCFSQuotaPeriod: true, KubeletCrashLoopBackOffMax: true}\n',
      ),
      argv: [
        '--eviction-hard=nodefs.available<5%',
        '--cluster-dns=10.0.0.3',
        '--feature-gates=CustomCPUCFSQuotaPeriod=false',
      ],
    });
    expect(configuration.evictionHard).toEqual({ 'nodefs.available': '5%' });
    expect(configuration.clusterDNS).toEqual(['10.0.0.3']);
    expect(configuration.featureGates).toEqual({ CustomCPUCFSQuotaPeriod: false, KubeletCrashLoopBackOffMax: true });
    expect(origins.of('featureGates.CustomCPUCFSQuotaPeriod').source).toBe('flag');
    expect(origins.of('featureGates.KubeletCrashLoopBackOffMax').source).toBe('file');
    expect(origins.of('evictionHard["memory.available"]').source).toBe('flag');
  });
});

describe('drop-ins', () => {
  it('drop-ins are the .conf files of a directory and its subdirectories, in lexical order of their paths', async () => {
    const number = (port: number): string => file(`port: ${port}\nmaxPods: ${port}\n`);
    const { configuration, origins, skippedFiles } = await load({
      dropIns: {
        '10-z.conf': number(1),
        '05-sub/99.conf': number(2),
        'Z.conf': number(3),
        'a.conf': number(4),
        'b/c/d.conf': number(5),
        'b/readme.md': 'nonsense: [',
        'c.yaml': number(9),
        'b.conf': file('port: 6\n'),
      },
    });
    // The files in byte order of their names: 05-sub, 10-z.conf, Z.conf, a.conf, b, b.conf, c.yaml.
    expect(configuration).toMatchObject({ port: 6, maxPods: 5 });
    expect(formatOrigin(origins.of('maxPods'))).toBe('/etc/kubelet/conf.d/b/c/d.conf:4:10');
    expect(skippedFiles).toEqual(['/etc/kubelet/conf.d/b/readme.md', '/etc/kubelet/conf.d/c.yaml']);
  });

  it('drop-ins are merged into maps key by key and replace lists', async () => {
    const { configuration } = await load({
      config: file(
        'systemReserved: {cpu: 100m, memory: 1Gi}\nclusterDNS: [10.0.0.1, 10.0.0.2]\nlogging: {verbosity: 3}\n',
      ),
      dropIns: { 'a.conf': file('systemReserved: {memory: 2Gi}\nclusterDNS: [10.0.0.3]\nlogging: {format: json}\n') },
    });
    expect(configuration.systemReserved).toEqual({ cpu: '100m', memory: '2Gi' });
    expect(configuration.clusterDNS).toEqual(['10.0.0.3']);
    expect(configuration.logging).toMatchObject({ format: 'json', verbosity: 3 });
  });

  it('eviction thresholds of a drop-in are added to the defaults if the file has none', async () => {
    const dropIns = { 'a.conf': file('evictionHard: {memory.available: 1Gi, nodefs.available: null}\n') };
    expect((await load({ config: file(''), dropIns })).configuration.evictionHard).toEqual({
      'memory.available': '1Gi',
      'nodefs.inodesFree': '5%',
      'imagefs.available': '15%',
      'imagefs.inodesFree': '5%',
    });
    expect((await load({ dropIns })).configuration.evictionHard).toEqual({ 'memory.available': '1Gi' });
  });

  it('null in a drop-in resets a field to its default', async () => {
    const { configuration, origins } = await load({
      config: file('maxPods: 5\nauthentication: {anonymous: {enabled: true}}\n'),
      dropIns: { 'a.conf': file('maxPods: null\nauthentication: null\n') },
    });
    expect(configuration).toMatchObject({ maxPods: 110, authentication: { anonymous: { enabled: false } } });
    expect(origins.of('maxPods')).toEqual({ source: 'default' });
  });

  it('null in a drop-in removes a feature gate from the map; null in the file means false', async () => {
    const gates = 'featureGates: {CustomCPUCFSQuotaPeriod: null}\n';
    expect((await load({ config: file(gates) })).configuration.featureGates).toEqual({
      CustomCPUCFSQuotaPeriod: false,
    });
    expect((await refusal({ config: file('featureGates: {NodeSwap: null}\n') })).message).toContain('locked to true');
    const config = file('featureGates: {CustomCPUCFSQuotaPeriod: true}\n');
    expect((await load({ config, dropIns: { 'a.conf': file(gates) } })).configuration.featureGates).toEqual({});
  });

  it('a drop-in does not change defaults that were derived from the file', async () => {
    const dropIns = { 'a.conf': file('nodeStatusUpdateFrequency: 20s\n') };
    expect((await load({ config: file(''), dropIns })).configuration.nodeStatusReportFrequencyMs).toBe(300_000);
    const parallel = { 'a.conf': file('maxParallelImagePulls: 5\n') };
    expect((await refusal({ config: file(''), dropIns: parallel })).message).toMatch(
      /a\.conf:3:24: maxParallelImagePulls: cannot be larger than 1 unless serializeImagePulls is set to false/,
    );
  });

  it.each([
    [{ 'a.conf': 'maxPods: 5\n' }, 'decode', '/etc/kubelet/conf.d/a.conf:1:1: apiVersion: is missing'],
    [{ 'a.conf': '' }, 'syntax', '/etc/kubelet/conf.d/a.conf:1:1: is empty'],
    [{}, 'read', '/etc/kubelet/conf.d: cannot be read: ENOENT'],
  ])('refuses the drop-ins %j with the code %s and the message %s', async (dropIns, code, message) => {
    const error = await refusal({ dropIns });
    expect(error.code).toBe(code);
    expect(error.message).toContain(message);
  });
});

describe('origins of configuration values', () => {
  it('origins are recorded for each value at every depth', async () => {
    const { origins } = await load({
      config: file('registerWithTaints: [{key: a}]\nstaticPodURLHeader: {A: [b]}\nevictionHard: {}\n'),
    });
    expect([...origins.entries()].map(([path, origin]) => `${path} ${formatOrigin(origin)}`)).toEqual([
      'registerWithTaints /etc/kubelet/config.yaml:3:21',
      'registerWithTaints[0].key /etc/kubelet/config.yaml:3:28',
      'staticPodURLHeader.A /etc/kubelet/config.yaml:4:25',
      'staticPodURLHeader.A[0] /etc/kubelet/config.yaml:4:26',
      'evictionHard /etc/kubelet/config.yaml:5:15',
    ]);
    expect(formatOrigin(origins.of('registerWithTaints[0]'))).toBe('/etc/kubelet/config.yaml:3:21');
  });

  it('a value that a drop-in replaces has the drop-in as origin; a map that it extends keeps the file as origin', async () => {
    const { origins } = await load({
      config: file(
        'clusterDNS: [10.0.0.1, 10.0.0.2]\nevictionHard: {memory.available: 1Gi}\nevictionSoft: {}\nsystemReserved: {cpu: 1k}\n',
      ),
      dropIns: {
        'a.conf': file(
          'clusterDNS: [10.0.0.3]\nevictionHard: {}\nevictionSoft: {memory.available: null}\nsystemReserved: {cpu: null}\nkubeReserved: {}\n',
        ),
      },
    });
    const paths = [...origins.entries()].map(([path, origin]) => `${path} ${origin.source}`);
    expect(paths.sort()).toEqual([
      'clusterDNS dropIn',
      'clusterDNS[0] dropIn',
      'evictionHard["memory.available"] file',
      'evictionSoft file',
      'kubeReserved dropIn',
    ]);
  });
});

describe('setIn', () => {
  it.each<[readonly string[], Json]>([
    [[], { a: { b: 1 }, c: 2 }],
    [['c'], { a: { b: 1 }, c: 0 }],
    [['a', 'd'], { a: { b: 1, d: 0 }, c: 2 }],
    [['c', 'd'], { a: { b: 1 }, c: { d: 0 } }],
    [['e', 'f'], { a: { b: 1 }, c: 2, e: { f: 0 } }],
  ])('setIn at the path %j changes no other value', (path, value) => {
    expect(setIn({ a: { b: 1 }, c: 2 }, path, 0)).toEqual(value);
  });
});

describe('merging of drop-ins', () => {
  const value = fc.letrec<{ json: Json }>((tie) => ({
    json: fc.oneof(
      { maxDepth: 3 },
      fc.constant(null),
      fc.integer(),
      fc.array(fc.integer(), { maxLength: 3 }),
      fc.dictionary(fc.constantFrom('a', 'b', 'c.d'), tie('json'), { maxKeys: 3 }),
    ),
  })).json;
  const object = fc.dictionary(fc.constantFrom('a', 'b', 'c.d'), value, { maxKeys: 3 });

  /** RFC 7386, section 2, word for word. */
  function mergePatch(target: Json, patch: Json): Json {
    if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return patch;
    const result: Record<string, Json> = isObject(target) ? { ...target } : {};
    for (const [key, part] of Object.entries(patch)) {
      if (part === null) delete result[key];
      else result[key] = mergePatch(result[key] ?? null, part);
    }
    return result;
  }

  it('merging a drop-in equals a JSON merge patch (RFC 7386)', () => {
    fc.assert(
      fc.property(object, object, (base, patch) => {
        const layer = { value: patch, origins: new Map(), issues: [], unknown: [] };
        expect(mergeLayer(base, layer, new Origins())).toEqual(mergePatch(base, patch));
      }),
    );
  });
});

describe('a command line without --config', () => {
  it('without --config, flags keep their old defaults and the read-only port stays off', async () => {
    const { configuration, origins, warnings } = await load({});
    expect(configuration.authentication).toMatchObject({ anonymous: { enabled: true }, webhook: { enabled: false } });
    expect(configuration.authorization.mode).toBe('AlwaysAllow');
    expect(configuration.readOnlyPort).toBe(0);
    expect(configuration.evictionHard).toEqual({});
    expect(origins.of('authorization.mode')).toEqual({ source: 'flagDefault' });
    expect(origins.isSet('authorization')).toBe(false);
    expect(warnings).toEqual([]);
  });

  it('with --config, the old defaults of flags do not apply', async () => {
    const { configuration } = await load({ config: file('') });
    expect(configuration.authentication).toMatchObject({ anonymous: { enabled: false }, webhook: { enabled: true } });
    expect(configuration.authorization.mode).toBe('Webhook');
  });
});

describe('defaults that depend on other values', () => {
  it.each<[string, string, unknown]>([
    ['nodeStatusUpdateFrequency: 20s', 'nodeStatusReportFrequencyMs', 20_000],
    ['nodeStatusUpdateFrequency: 0s', 'nodeStatusReportFrequencyMs', 300_000],
    ['nodeStatusUpdateFrequency: 20s\nnodeStatusReportFrequency: 1m', 'nodeStatusReportFrequencyMs', 60_000],
    ['nodeStatusUpdateFrequency: 20s\nnodeStatusReportFrequency: 0s', 'nodeStatusReportFrequencyMs', 20_000],
    ['maxParallelImagePulls: 2\nserializeImagePulls: false', 'serializeImagePulls', false],
    ['podPidsLimit: 0', 'podPidsLimit', 0],
    ['crashLoopBackOff: {maxContainerRestartPeriod: 10s}', 'crashLoopBackOff', { maxContainerRestartPeriodMs: 10_000 }],
    ['', 'imagePullCredentialsVerificationPolicy', 'NeverVerifyPreloadedImages'],
    [
      'imagePullCredentialsVerificationPolicy: ""',
      'imagePullCredentialsVerificationPolicy',
      'NeverVerifyPreloadedImages',
    ],
    ['imagePullCredentialsVerificationPolicy: AlwaysVerify', 'imagePullCredentialsVerificationPolicy', 'AlwaysVerify'],
    ['evictionHard: null', 'evictionHard', DEFAULT_EVICTION_HARD],
    ['mergeDefaultEvictionSettings: true', 'evictionHard', DEFAULT_EVICTION_HARD],
    ['maxParallelImagePulls: 2', 'serializeImagePulls', false],
    ['maxParallelImagePulls: 1', 'serializeImagePulls', true],
    ['podPidsLimit: -5', 'podPidsLimit', -1],
    [
      'mergeDefaultEvictionSettings: true\nevictionHard: {memory.available: 0%}',
      'evictionHard',
      {
        'memory.available': '0%',
        'nodefs.available': '10%',
        'nodefs.inodesFree': '5%',
        'imagefs.available': '15%',
        'imagefs.inodesFree': '5%',
      },
    ],
    ['evictionHard: {memory.available: 0%}', 'evictionHard', { 'memory.available': '0%' }],
    ['evictionHard: {}', 'evictionHard', {}],
    ['featureGates: {KubeletCrashLoopBackOffMax: false}', 'crashLoopBackOff', {}],
    ['featureGates: {KubeletEnsureSecretPulledImages: false}', 'imagePullCredentialsVerificationPolicy', undefined],
    ['', 'crashLoopBackOff', { maxContainerRestartPeriodMs: 300_000 }],
    ['resolvConf: ""', 'resolvConf', ''],
    ['eventRecordQPS: 0', 'eventRecordQPS', 0],
    ['eventBurst: 0', 'eventBurst', 100],
    ['enforceNodeAllocatable: []', 'enforceNodeAllocatable', []],
    ['logging: {format: ""}', 'logging', expect.objectContaining({ format: 'text' })],
  ])('with the file "%s", the default of %s is $2', async (body, property, value) => {
    const { configuration } = await load({ config: file(body) });
    expect((configuration as unknown as Record<string, unknown>)[property]).toEqual(value);
  });
});

describe('relative paths', () => {
  it('relative paths are joined as in Go, without a trailing slash', async () => {
    const { configuration } = await load({ config: file('podLogsDir: ../logs/\nstaticPodPath: ./manifests//\n') });
    expect(configuration).toMatchObject({ podLogsDir: '/etc/logs', staticPodPath: '/etc/kubelet/manifests' });
    await expect(load({ config: file('podLogsDir: /logs/\n') })).rejects.toThrow('must be normalized: /logs');
  });

  it('relative paths in the --config file are resolved against its directory; relative paths in drop-ins and flags stay relative', async () => {
    const { configuration } = await load({
      config: file(
        'staticPodPath: manifests\nresolvConf: ../resolv.conf\nauthentication: {x509: {clientCAFile: ca.crt}}\ntlsCertFile: /a/b\npodLogsDir: logs\n',
      ),
      dropIns: { 'a.conf': file('tlsPrivateKeyFile: key\n') },
      argv: ['--volume-plugin-dir=plugins'],
    });
    expect(configuration).toMatchObject({
      staticPodPath: '/etc/kubelet/manifests',
      resolvConf: '/etc/resolv.conf',
      authentication: { x509: { clientCAFile: '/etc/kubelet/ca.crt' } },
      tlsCertFile: '/a/b',
      tlsPrivateKeyFile: 'key',
      volumePluginDir: 'plugins',
      podLogsDir: '/etc/kubelet/logs',
    });
  });

  it("relative paths are resolved against the file's directory in exactly the fields in which upstream does so", () => {
    const paths = (fields: readonly Field[]): string[] =>
      fields.flatMap((line) =>
        line.type.kind === 'object' ? paths(line.type.fields) : line.isPath ? [line.name] : [],
      );
    expect(paths(configurationFields).sort()).toEqual([
      'clientCAFile',
      'podLogsDir',
      'resolvConf',
      'staticPodPath',
      'tlsCertFile',
      'tlsPrivateKeyFile',
      'volumePluginDir',
    ]);
  });
});

describe('secret values of a configuration', () => {
  const secret = 'Bearer-0123456789';

  it.each([
    { config: file(`staticPodURLHeader: {Authorization: ${secret}}\n`) },
    { config: file(`staticPodURLHeader: ${secret}\n`) },
    { config: file(`staticPodURLHeader: {Authorization: [{a: ${secret}}]}\n`) },
    { argv: [`--manifest-url-header=${secret}`] },
  ])('W4: an error about an invalid manifest URL header does not show its value: %j', async (sources) => {
    const error = await refusal(sources);
    expect(error.message).not.toContain(secret);
    expect(error.message).toMatch(/staticPodURLHeader|manifest-url-header/);
  });

  it('W4: a manifest URL header keeps its value, which neither its origin nor the logged configuration shows', async () => {
    const { configuration, origins } = await load({ argv: [`--manifest-url-header=Authorization:${secret}`] });
    expect(configuration.staticPodURLHeader).toEqual({ Authorization: [secret] });
    expect(JSON.stringify([...origins.entries()])).not.toContain(secret);
    expect(origins.of('staticPodURLHeader')).toEqual({ source: 'flag', flag: 'manifest-url-header', text: '<masked>' });
    expect(JSON.stringify(maskSecrets(configuration))).not.toContain(secret);
    expect(maskSecrets(configuration).staticPodURLHeader).toEqual({ Authorization: ['<masked>'] });
  });

  it('W4: reports a header value that is not a string by its type, without the value', async () => {
    const message = async (value: string): Promise<string> =>
      (await refusal({ config: file(`staticPodURLHeader: {a: [${value}]}\n`) })).message;
    expect(await message('123456789012345678901')).toContain('must be a string, not a number');
    expect(await message('1')).toContain('must be a string, not a number');
    expect(await message('true')).toContain('must be a string, not a boolean');
    expect(await message('null')).toContain('must be a string, not null');
    expect((await refusal({ argv: [`--manifest-url-header=${secret}`] })).message).toContain('"<masked>"');
  });

  it('manifest URL headers are the only fields whose values errors omit', async () => {
    expect((await refusal({ config: file('clusterDNS: shown\n') })).message).toContain('shown');
    const after = file('staticPodURLHeader: {a: b}\nclusterDNS: shown\n');
    expect((await refusal({ config: after })).message).toContain('shown');
  });
});

describe('random configuration files', () => {
  const name = fc.constantFrom(...configurationFields.map((line) => line.name), 'unknown', '__proto__', 'constructor');
  const text = fc.constantFrom('', '1s', '-1s', '10%', '1Gi', 'none', 'pods', '/a', '::1', 'http://x', 'Watch', 'text');
  const body = fc.dictionary(name, fc.oneof(text, fc.jsonValue({ maxDepth: 3 })), { maxKeys: 5 });

  it('W3: any content of file and drop-in gives a configuration or a ConfigError, and never another exception', async () => {
    await fc.assert(
      fc.asyncProperty(body, body, async (inFile, inDropIn) => {
        const head = { apiVersion: 'kubelet.config.k8s.io/v1beta1', kind: 'KubeletConfiguration' };
        const config = JSON.stringify({ ...inFile, ...head });
        const dropIns = { 'a.conf': JSON.stringify({ ...inDropIn, ...head }) };
        const outcome = await load({ config, dropIns }).then(
          () => undefined,
          (error: unknown) => error,
        );
        if (outcome === undefined) return;
        expect(outcome).toBeInstanceOf(ConfigError);
        if (outcome instanceof ConfigError) expect(outcome.issues.length).toBeGreaterThan(0);
      }),
      { numRuns: 300 },
    );
  });
});
