import { describe, expect, it } from 'vitest';
import { parseCommandLine } from '../src/flags/command-line.ts';
import { flagValues } from '../src/flags/flag-values.ts';

const values = (...argv: string[]) => flagValues(parseCommandLine(argv));

describe('list of flag values', () => {
  it("the list has every flag sorted by name, with upstream's default if the flag is not given", () => {
    const all = values();
    expect(Object.keys(all)).toEqual(Object.keys(all).sort());
    expect(all).toMatchObject({
      ...{
        address: '0.0.0.0',
        'anonymous-auth': 'true',
        'authorization-mode': 'AlwaysAllow',
        config: '',
        help: 'false',
      },
      ...{ 'cluster-dns': '[]', 'eviction-hard': '', 'max-pods': '110' },
      ...{ 'housekeeping-interval': '10s', 'sync-frequency': '1m0s', 'streaming-connection-idle-timeout': '4h0m0s' },
      ...{
        'node-labels': '',
        'register-with-taints': '',
        'maximum-dead-containers': '-1',
        'root-dir': '/var/lib/kubelet',
      },
    });
  });

  it("the list shows the values of given flags in upstream's normal form", () => {
    const given = [
      '--config=/k.yaml',
      '--anonymous-auth=F',
      '--cluster-dns=10.0.0.10',
      '--cluster-dns=a,"b,c"',
      '--max-pods=0x10',
    ];
    const maps = ['--system-reserved=memory=1Gi,cpu=100m', '--eviction-hard=b<1,a<2', '--node-labels=z=1,a=2'];
    const others = [
      '--sync-frequency=90s',
      '--minimum-container-ttl-duration=60s',
      '--register-with-taints=a=b:NoSchedule',
    ];
    expect(values(...given, ...maps, ...others)).toMatchObject({
      ...{ config: '/k.yaml', 'anonymous-auth': 'false', 'cluster-dns': '[10.0.0.10,a,"b,c"]', 'max-pods': '16' },
      ...{ 'system-reserved': 'cpu=100m,memory=1Gi', 'eviction-hard': 'a<2,b<1', 'node-labels': 'a=2,z=1' },
      ...{
        'sync-frequency': '1m30s',
        'minimum-container-ttl-duration': '1m0s',
        'register-with-taints': 'a=b:NoSchedule',
      },
    });
  });

  it('the list of flag values has a value for every flag', () => {
    for (const [name, value] of Object.entries(values())) expect(value, name).not.toMatch(/undefined|object|null/);
  });

  it.each([
    ['manifest-url-header', [], ''],
    ['v', [], '0'],
    ['vmodule', [], ''],
    ['vmodule', ['--vmodule=a=1', '--vmodule=b*=2,'], 'a=1,b*=2'],
    ['register-with-taints', ['--register-with-taints=b:NoExecute,a=c:NoSchedule'], 'b=:NoExecute,a=c:NoSchedule'],
    ['reserved-memory', [], ''],
    [
      'reserved-memory',
      ['--reserved-memory=1:memory=1024Mi,hugepages-1Gi=2Gi', '--reserved-memory=0:memory=1000m'],
      '0:memory=1,1:hugepages-1Gi=2Gi,memory=1Gi',
    ],
    ['feature-gates', ['--feature-gates=B=true,A=F'], 'A=false,B=true'],
    ['boot-id-file', [], '/proc/sys/kernel/random/boot_id'],
    ['boot-id-file', ['--boot-id-file=/x'], '/x'],
    ['maximum-dead-containers', ['--maximum-dead-containers=0x10'], '16'],
    ['help', ['--help=T'], 'true'],
    ['enforce-node-allocatable', [], '[pods]'],
    ['cluster-dns', ['--cluster-dns="a""b"'], '["a""b"]'],
    ['cluster-dns', ['--cluster-dns=a,b'], '[a,b]'],
    ['container-log-max-size', ['--container-log-max-size=1024Ki'], '1024Ki'],
    ['eviction-soft-grace-period', ['--eviction-soft-grace-period=memory.available=90s'], 'memory.available=90s'],
    ['log-flush-frequency', ['--log-flush-frequency=1500ms'], '1.5s'],
    ['seccomp-default', [], 'false'],
    ['authentication-token-webhook', [], 'false'],
    ['authentication-token-webhook', ['--authentication-token-webhook'], 'true'],
    ['pod-max-pids', [], '-1'],
  ])('the list of flag values shows --%s given as %j with the value %j', (name, argv, value) => {
    expect(values(...argv)[name]).toBe(value);
  });

  it('W4: the list of flag values contains no secrets', () => {
    const all = values('--manifest-url-header=Authorization:Bearer hush');
    expect(all['manifest-url-header']).toBe('CLASSIFIED');
    expect(JSON.stringify(all)).not.toContain('hush');
  });
});
