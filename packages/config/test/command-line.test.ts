import { describe, expect, it } from 'vitest';
import { ConfigError, parseCommandLine } from '../src/index.ts';
import { load } from './memory-files.ts';

/** Returns the value that a command line sets for the field of a flag. */
function setting(name: string, ...argv: string[]): unknown {
  return parseCommandLine(argv).settings.find(({ mirror }) => mirror.flag.name === name)?.value;
}

function problem(...argv: string[]): string {
  try {
    parseCommandLine(argv);
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
  return 'none';
}

describe('the values of flags', () => {
  it.each<[string, readonly string[], unknown]>([
    ['max-pods', ['--max-pods=0x10'], 16],
    ['max-pods', ['--max-pods=0o17'], 15],
    ['max-pods', ['--max-pods=017'], 15],
    ['max-pods', ['--max-pods=1_000'], 1000],
    ['oom-score-adj', ['--oom-score-adj=-5'], -5],
    ['max-pods', ['--max-pods=1', '--max-pods=2'], 2],
    ['cgroups-per-qos', ['--cgroups-per-qos'], true],
    ['cgroups-per-qos', ['--cgroups-per-qos=F'], false],
    ['sync-frequency', ['--sync-frequency=1m30s'], '1m30s'],
    [
      'cluster-dns',
      ['--cluster-dns=10.0.0.1,10.0.0.2', '--cluster-dns', '10.0.0.3'],
      ['10.0.0.1', '10.0.0.2', '10.0.0.3'],
    ],
    ['cluster-dns', ['--cluster-dns='], []],
    ['allowed-unsafe-sysctls', ['--allowed-unsafe-sysctls="a,b",c'], ['a,b', 'c']],
    ['feature-gates', ['--feature-gates=A=true, B = f', '--feature-gates=C=1,'], { A: true, B: false, C: true }],
    ['kube-reserved', ['--kube-reserved=cpu=200m,memory=1Gi'], { cpu: '200m', memory: '1Gi' }],
    [
      'eviction-hard',
      ['--eviction-hard=memory.available<1Gi,nodefs.available<10%'],
      { 'memory.available': '1Gi', 'nodefs.available': '10%' },
    ],
    [
      'eviction-soft-grace-period',
      ['--eviction-soft-grace-period=memory.available=1m30s'],
      { 'memory.available': '1m30s' },
    ],
    [
      'cpu-manager-policy-options',
      ['--cpu-manager-policy-options=a=b,c=d', '--cpu-manager-policy-options=e=f'],
      { a: 'b,c=d', e: 'f' },
    ],
    [
      'manifest-url-header',
      ['--manifest-url-header=a:hello,b:again,b:beautiful', '--manifest-url-header=A:x:y'],
      { a: ['hello'], b: ['again', 'beautiful'], A: ['x:y'] },
    ],
    ['address', ['--address=::'], '::'],
    ['address', ['--address='], undefined],
    ['address', ['--address=192.0.2.1', '--address='], '192.0.2.1'],
    ['healthz-bind-address', ['--healthz-bind-address=', '--healthz-bind-address=192.0.2.1'], '192.0.2.1'],
    ['cluster-domain', ['--cluster-domain='], ''],
    ['kube-reserved', ['--kube-reserved=cpu=200m,', '--kube-reserved=memory=1Gi'], { cpu: '200m', memory: '1Gi' }],
    ['kube-reserved', ['--kube-reserved=cpu=200m', '--kube-reserved=cpu=1'], { cpu: '1' }],
    [
      'register-with-taints',
      ['--register-with-taints=a=b:NoSchedule,c/d:NoExecute'],
      [
        { key: 'a', value: 'b', effect: 'NoSchedule' },
        { key: 'c/d', value: '', effect: 'NoExecute' },
      ],
    ],
    ['register-with-taints', ['--register-with-taints='], []],
    // A taint to remove has no effect, because a node that registers has no taints yet.
    ['register-with-taints', ['--register-with-taints=a-,b/c:NoSchedule-,d=e:NoExecute-'], []],
    [
      'register-with-taints',
      ['--register-with-taints=a:NoSchedule-,a:NoSchedule,a:NoSchedule-'],
      [{ key: 'a', value: '', effect: 'NoSchedule' }],
    ],
    [
      'register-with-taints',
      ['--register-with-taints=x:NoSchedule', '--register-with-taints=a:PreferNoSchedule,a:NoExecute,b:NoExecute'],
      [
        { key: 'a', value: '', effect: 'PreferNoSchedule' },
        { key: 'a', value: '', effect: 'NoExecute' },
        { key: 'b', value: '', effect: 'NoExecute' },
      ],
    ],
    // A flag without a value does not replace the value of the file.
    ['reserved-memory', ['--reserved-memory='], undefined],
    [
      'reserved-memory',
      ['--reserved-memory=0:memory=1Gi', '--reserved-memory='],
      [{ numaNode: 0, limits: { memory: '1Gi' } }],
    ],
    [
      'reserved-memory',
      ['--reserved-memory=010:memory=1Gi', '--reserved-memory=1:memory=2Gi'],
      [
        { numaNode: 10, limits: { memory: '1Gi' } },
        { numaNode: 1, limits: { memory: '2Gi' } },
      ],
    ],
    [
      'reserved-memory',
      ['--reserved-memory=0:memory=1Gi,hugepages-1Gi=2Gi;1:memory=2Gi'],
      [
        { numaNode: 0, limits: { memory: '1Gi', 'hugepages-1Gi': '2Gi' } },
        { numaNode: 1, limits: { memory: '2Gi' } },
      ],
    ],
    [
      'vmodule',
      ['--vmodule=a=1,b*=2', '--vmodule=c=3'],
      [
        { filePattern: 'a', verbosity: 1 },
        { filePattern: 'b*', verbosity: 2 },
        { filePattern: 'c', verbosity: 3 },
      ],
    ],
    ['vmodule', ['--vmodule=a=2147483647,'], [{ filePattern: 'a', verbosity: 2_147_483_647 }]],
    ['v', ['-v4'], 4],
    // Unlike other numeric flags, `-v` reads a number with a leading 0 as decimal.
    ['v', ['-v=010'], 10],
    ['log-json-info-buffer-size', ['--log-json-info-buffer-size=1Ki'], '1Ki'],
    ['seccomp-default', ['--seccomp-default'], true],
    ['seccomp-default', ['--seccomp-default=false'], undefined],
    ['hairpin-mode', ['--hairpin-mode=none'], 'none'],
  ])('the flag --%s given as %j sets its field to $2', (name, argv, value) => {
    expect(setting(name, ...argv)).toEqual(value);
  });

  it.each([
    ['--max-pods=abc', 'invalid argument "abc" for "--max-pods" flag: must be a whole number'],
    ['--max-pods=1.5', 'must be a whole number'],
    ['--max-pods=2147483648', 'must be a whole number from -2147483648 to 2147483647'],
    ['--max-pods=08', 'must be a whole number'],
    ['--max-pods=1__0', 'must be a whole number'],
    ['--cgroups-per-qos=maybe', 'must be true or false'],
    ['--sync-frequency=10', 'must be a duration with a unit'],
    ['--feature-gates=A', 'must be pairs of the form key=value'],
    ['--feature-gates=A=yes', 'A: must be true or false, not "yes"'],
    ['--eviction-hard=memory.available=1Gi', 'must be pairs of the form key<value'],
    ['--kube-reserved=cpu=many', 'cpu: must be a quantity such as "10Mi" or "500m", not "many"'],
    ['--cpu-manager-policy-options=a', 'must have the form key=value'],
    ['--manifest-url-header=a', 'must be pairs of the form key:value'],
    ['--address=localhost', 'must be an IP address'],
    ['--register-with-taints=a', 'must have the form key=value:effect'],
    ['--register-with-taints=a:Never', 'must have the form key=value:effect'],
    ['--register-with-taints=a:NoSchedule:x', 'not "a:NoSchedule:x"'],
    ['--register-with-taints=a=b=c:NoSchedule', 'not "a=b=c:NoSchedule"'],
    ['--register-with-taints=a=-b:NoSchedule', '"-b" must be empty'],
    ['--register-with-taints=a:NoSchedule,a=b:NoSchedule', 'the taint a:NoSchedule is there twice'],
    ['--register-with-taints=-a:NoSchedule', 'must be 1 to 63 letters'],
    ['--register-with-taints=a:', 'not "a:"'],
    ['--register-with-taints=a:-', 'not "a:-"'],
    ['--register-with-taints=a:Never-', 'not "a:Never-"'],
    ['--register-with-taints=a:NoSchedule--', 'not "a:NoSchedule--"'],
    ['--register-with-taints=-', 'must be 1 to 63 letters'],
    ['--register-with-taints=a=b-', 'must be 1 to 63 letters'],
    ['--reserved-memory=memory=1Gi', 'must have the form numaNode:type=quantity'],
    ['--reserved-memory=0:memory=lots', 'memory: must be a quantity such as "10Mi" or "500m", not "lots"'],
    ['--reserved-memory=0:', 'must have the form numaNode:type=quantity,type=quantity, not "0:"'],
    ['--reserved-memory=0:memory', 'must have the form numaNode:type=quantity'],
    ['--reserved-memory=0: memory=1Gi', 'must have the form numaNode:type=quantity,type=quantity, not "0: memory=1Gi"'],
    ['--reserved-memory=0:memory= 1Gi', 'must have the form numaNode:type=quantity'],
    ['--reserved-memory=0:memory=1Gi; 1:memory=1Gi', 'must have the form numaNode:type=quantity'],
    ['--reserved-memory=0:memory=1Gi,', 'must have the form numaNode:type=quantity'],
    ['--reserved-memory=0:memory=1=2', 'must have the form numaNode:type=quantity'],
    ['--reserved-memory=0:memory=1Gi:x', 'must have the form numaNode:type=quantity'],
    ['--reserved-memory=0x1:memory=1Gi', 'must have the form numaNode:type=quantity'],
    ['--reserved-memory=0:memory=1Gi;', 'must have the form numaNode:type=quantity,type=quantity, not ""'],
    ['--vmodule=a', 'must have the form pattern=N, not "a"'],
    ['--vmodule==1', 'must have the form pattern=N'],
    ['--vmodule=a=1=2', 'must have the form pattern=N'],
    ['--vmodule=a=x', 'must have the form pattern=N'],
    ['--vmodule=a=2147483648', 'must have the form pattern=N'],
    ['-v=0x4', 'must be a whole number from 0 to 4294967295'],
    ['-v=-1', 'invalid argument "-1" for "-v, --v" flag: must be a whole number from 0'],
    ['--allowed-unsafe-sysctls=a"b', 'double quote in the wrong place'],
    ['--hairpin-mode=both', 'must be one of "promiscuous-bridge", "hairpin-veth", "none"'],
    ['--minimum-container-ttl-duration=1', 'must be a duration with a unit'],
    ['--maximum-dead-containers=x', 'must be a whole number'],
    ['--maximum-dead-containers=2147483648', 'must be a whole number from -2147483648 to 2147483647'],
    [
      '--exit-on-lock-contention=maybe',
      'invalid argument "maybe" for "--exit-on-lock-contention" flag: must be true or false',
    ],
    ['--kube-reserved=cpu', 'must be pairs of the form key=value, with commas between'],
    ['--version=v1.2.3', 'must be true, false or raw'],
    ['run', 'unknown command run'],
  ])('refuses the flag %s with an error that names the flag', (argument, message) => {
    expect(problem(argument)).toContain(message);
  });

  it('the error for an invalid flag names the flag, its value and the allowed values', () => {
    expect(problem('--max-pods=abc')).toBe(
      'invalid argument "abc" for "--max-pods" flag: must be a whole number from -2147483648 to 2147483647',
    );
    expect(problem('--help=perhaps')).toBe('invalid argument "perhaps" for "-h, --help" flag: must be true or false');
  });

  it('one error names all problems of a command line', () => {
    expect(problem('--max-pods=x', 'y', '--port=z').split('\n')).toHaveLength(3);
  });
});

describe('flags that mirror no configuration field', () => {
  it("flags that mirror no configuration field have upstream's defaults", () => {
    expect(parseCommandLine([]).flags).toEqual({
      config: '',
      configDir: '',
      strictConfig: false,
      all: false,
      kubeconfig: '',
      bootstrapKubeconfig: '',
      hostnameOverride: '',
      nodeIp: '',
      certDir: '/var/lib/kubelet/pki',
      cloudProvider: '',
      rootDir: '/var/lib/kubelet',
      nodeLabels: {},
      adminSocket: '',
      dashboard: false,
      dashboardPort: 0,
      lockFile: '',
      exitOnLockContention: false,
      runtimeCgroups: '',
      imageCredentialProviderConfig: '',
      imageCredentialProviderBinDir: '',
      minimumContainerTtlMs: 0,
      maximumDeadContainersPerContainer: 1,
      maximumDeadContainers: -1,
      experimentalMounterPath: '',
      experimentalAllocatableIgnoreEviction: false,
      version: 'false',
      help: false,
    });
  });

  it('reads flags that mirror no configuration field', () => {
    const argv = [
      '--node-labels=a=b,c',
      '--node-labels=d=e=f',
      '--minimum-container-ttl-duration=1m',
      '-h',
      '--version=raw',
    ];
    const { flags } = parseCommandLine(argv);
    expect(flags.nodeLabels).toEqual({ a: 'b', c: '', d: 'e=f' });
    expect(flags).toMatchObject({ minimumContainerTtlMs: 60_000, help: true, version: 'raw' });
  });

  it('lists the given flags with their last value, but not flags that mirror a field, because these may be secret', () => {
    const argv = ['--config=a', '--manifest-url-header=a:b', '--root-dir', '/c', '--config=b', '--max-pods=1'];
    expect([...parseCommandLine(argv).given]).toEqual([
      ['config', 'b'],
      ['root-dir', '/c'],
    ]);
  });

  it.each([
    [['--version'], { version: 'true' }],
    [['--version=T'], { version: 'true' }],
    [['--version=F'], { version: 'false' }],
    [['--node-labels= a = b , c '], { nodeLabels: { a: 'b', c: '' } }],
    [['--node-labels=a=b', '--node-labels=a=c,'], { nodeLabels: { a: 'c' } }],
    [['--maximum-dead-containers=0x10'], { maximumDeadContainers: 16 }],
    [['--maximum-dead-containers=1', '--maximum-dead-containers=2'], { maximumDeadContainers: 2 }],
    [['--minimum-container-ttl-duration=1.5s'], { minimumContainerTtlMs: 1500 }],
    [['--exit-on-lock-contention'], { exitOnLockContention: true }],
    [['--hostname-override='], { hostnameOverride: '' }],
  ])('reads the flags %j as %j', (argv, flags) => {
    expect(parseCommandLine(argv).flags).toEqual({ ...parseCommandLine([]).flags, ...flags });
  });

  it("each deprecated flag causes one warning with upstream's message", () => {
    const { warnings } = parseCommandLine(['--max-pods=1', '--max-pods=2', '--maximum-dead-containers=3', '-v=1']);
    expect(warnings.map(({ message }) => message)).toEqual([
      "Flag --max-pods has been deprecated, This parameter should be set via the config file specified by the Kubelet's --config flag. See https://kubernetes.io/docs/tasks/administer-cluster/kubelet-config-file/ for more information.",
      'Flag --maximum-dead-containers has been deprecated, Use --eviction-hard or --eviction-soft instead. Will be removed in a future version.',
    ]);
  });

  it.each([
    [['--node-labels=kubernetes.io/role=x'], "unknown 'kubernetes.io' or 'k8s.io' label kubernetes.io/role"],
    [['--node-labels=foo.k8s.io/role=x'], "unknown 'kubernetes.io' or 'k8s.io' label"],
    [['--node-labels=a b=c'], 'must be 1 to 63 letters'],
    [['--node-labels=A_/b=c'], 'must be a DNS name'],
    [['--node-labels=a=b c'], 'must be empty, or at most 63 letters'],
    [['--node-ip=10.0.0.1,here,10.0.0.2'], 'one of each family'],
    [['--node-ip=10.0.0.1,::1,::2'], 'must be one IP address, or two'],
    [['--cloud-provider=aws'], 'must be empty or external, not "aws"'],
    [['--exit-on-lock-contention'], 'needs --lock-file'],
    [['--root-dir='], '--root-dir: must not be empty'],
    [['--minimum-container-ttl-duration=-1s'], '--minimum-container-ttl-duration: must not be negative'],
    [
      ['--image-credential-provider-config=/x'],
      '--image-credential-provider-config: needs --image-credential-provider-bin-dir',
    ],
    [
      ['--image-credential-provider-bin-dir=/x'],
      '--image-credential-provider-bin-dir: needs --image-credential-provider-config',
    ],
  ])('refuses %j because a kubelet may not set that label on its node', async (argv, message) => {
    await expect(load({ argv })).rejects.toThrow(message);
  });

  it.each(['node.kubernetes.io/x=y', 'a.node.kubernetes.io/x=', 'kubernetes.io/hostname=h', 'example.com/a=b'])(
    'a kubelet may set the label %s on its node',
    async (label) => {
      expect((await load({ argv: ['--node-labels', label] })).flags.nodeLabels).toEqual({
        [label.split('=')[0] ?? '']: label.split('=')[1],
      });
    },
  );

  it('refuses flags that are not implemented, and warns about flags without effect', async () => {
    await expect(load({ argv: ['--experimental-mounter-path=/m'] })).rejects.toMatchObject({
      code: 'unsupported',
      message: expect.stringMatching(/^--experimental-mounter-path: is not supported yet: volumes/),
    });
    const { warnings } = await load({ argv: ['--contention-profiling', '--boot-id-file=/x'] });
    expect(warnings.map(({ path }) => path)).toEqual(
      expect.arrayContaining(['enableContentionProfiling', '--boot-id-file']),
    );
    const plain = await load({
      argv: ['--kubeconfig=', '--exit-on-lock-contention=F', '--lock-file=', '--tls-min-version=VersionTLS13'],
    });
    expect(plain.warnings.filter(({ path }) => path !== '')).toEqual([]);
    const inert = await load({ argv: ['--boot-id-file=/x', '--housekeeping-interval=1s'] });
    expect(inert.warnings.filter(({ path }) => path !== '')).toEqual([
      expect.objectContaining({ path: '--housekeeping-interval' }),
      {
        path: '--boot-id-file',
        message: 'has no effect: a flag of cAdvisor, which is not used',
        origin: { source: 'flag', flag: 'boot-id-file', text: '/x' },
      },
    ]);
  });
});
