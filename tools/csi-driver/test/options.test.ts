import { describe, expect, test } from 'vitest';
import { driverCommand } from '../src/options/driver-options.ts';
import { parseSize } from '../src/options/size.ts';
import { registrarCommand } from '../src/registrar/registrar-options.ts';

describe('driverCommand', () => {
  test("driverCommand accepts the arguments that upstream's suites pass to the host path driver", () => {
    const args = [
      ...['--drivername=hostpath.csi.k8s.io', '--v=5', '--endpoint=unix:///csi/csi.sock', '--nodeid=n1'],
      ...['--drivername=csi-hostpath-e2e', '--maxvolumespernode=10', '--check-volume-lifecycle=true'],
      ...['--enable-controller-modify-volume=true', '--accepted-mutable-parameter-names=e2eVacTest'],
    ];
    expect(driverCommand(args)).toMatchObject({
      do: 'serve',
      options: {
        ...{ driverName: 'csi-hostpath-e2e', socketPath: '/csi/csi.sock', nodeId: 'n1', stateDir: '/csi-data-dir' },
        ...{ verbosity: 5, maxVolumesPerNode: 10, checksLifecycle: true, modifies: true, attaches: false },
        ...{ hasTopology: true, stages: true, expandsOnController: true, expandsOnNode: true, setsMountGroup: false },
        acceptedMutableParameters: ['e2eVacTest'],
      },
    });
  });

  test.each<readonly [string, readonly string[], object]>([
    ['a value as an argument of its own', ['-statedir', '/s'], { stateDir: '/s' }],
    [
      'a state directory that several drivers share',
      ['--statedir=/s', '--shared-statedir', '--drivername=a.b'],
      { stateDir: '/s/a.b' },
    ],
    ['a boolean without a value', ['--enable-attach'], { attaches: true }],
    ['a boolean that is false', ['--enable-topology=false'], { hasTopology: false }],
    [
      'capacities of two kinds',
      ['--capacity=fast=1Gi', '--capacity=slow=2k'],
      {
        limits: {
          maxVolumeBytes: 2 ** 40,
          capacity: new Map([
            ['fast', 2 ** 30],
            ['slow', 2000],
          ]),
        },
      },
    ],
    ['no expansion', ['--enable-volume-expansion=false'], { expandsOnController: false, expandsOnNode: false }],
    [
      'expansion by the controller alone',
      ['--disable-node-expansion'],
      { expandsOnController: true, expandsOnNode: false },
    ],
  ])('driverCommand parses %s', (_, args, expected) => {
    expect(driverCommand(['--nodeid=n1', ...args])).toMatchObject({ options: expected });
  });

  test('driverCommand returns the commands that print a text and exit', () => {
    expect(driverCommand(['--version'])).toEqual({ do: 'version' });
    expect(driverCommand(['-help'])).toEqual({ do: 'help' });
    expect(driverCommand(['--endpoint=/csi/csi.sock', '--proxy-endpoint=tcp://:9000'])).toEqual({
      ...{ do: 'proxy', socketPath: '/csi/csi.sock', host: '0.0.0.0', port: 9000 },
    });
  });

  test.each<readonly [readonly string[], string]>([
    [[], 'flag --nodeid is required'],
    [['--nodeid'], 'flag --nodeid needs a value'],
    [['--nodeid=n', '--foo=1'], 'unknown flag --foo'],
    [['nodeid'], 'argument "nodeid" is not a flag'],
    [['--nodeid=n', '--v=x'], 'flag --v must be a non-negative integer, not "x"'],
    [['--nodeid=n', '--enable-attach=maybe'], 'flag --enable-attach must be true or false, not "maybe"'],
    [['--nodeid=n', '--endpoint=tcp://x'], 'flag --endpoint must be the absolute path of a unix socket, not "tcp://x"'],
    [['--nodeid=n', '--statedir=x'], 'flag --statedir must be an absolute path'],
    [['--nodeid=n', '--shared-statedir', '--drivername=a/b'], 'flag --drivername must not contain a slash'],
    [['--nodeid=n', '--capacity=1Gi'], 'flag --capacity must be KIND=SIZE, not "1Gi"'],
    [['--nodeid=n', '--capacity=a=1X'], 'flag --capacity: "1X" is not a size such as 100Gi'],
    [['--proxy-endpoint=:9000'], 'flag --proxy-endpoint must be tcp://HOST:PORT, not ":9000"'],
  ])('driverCommand rejects %j', (args, message) => {
    expect(() => driverCommand(args)).toThrow(message);
  });
});

describe('registrarCommand', () => {
  test("registrarCommand accepts the arguments that upstream's suites pass to the node-driver-registrar", () => {
    const args = [
      '--v=5',
      '--csi-address=/csi/csi.sock',
      '--kubelet-registration-path=/var/lib/kubelet/plugins/x/csi.sock',
      '--timeout=1m',
    ];
    expect(registrarCommand(args)).toEqual({
      do: 'register',
      options: {
        csiSocketPath: '/csi/csi.sock',
        kubeletSocketPath: '/var/lib/kubelet/plugins/x/csi.sock',
        registrationDirectory: '/registration',
        verbosity: 5,
      },
    });
  });

  test('registrarCommand requires the path of the socket as the kubelet sees it', () => {
    expect(() => registrarCommand([])).toThrow('flag --kubelet-registration-path is required');
  });
});

test.each([
  ['0', 0],
  ['10', 10],
  ['3k', 3000],
  ['1Ki', 1024],
  ['100Gi', 100 * 2 ** 30],
  ['1T', 1e12],
])('parseSize(%j) is %d', (text, bytes) => {
  expect(parseSize(text)).toBe(bytes);
});

test.each(['', 'Gi', '-1', '1.5Gi', '1 Gi', '1KI'])('parseSize rejects %j', (text) => {
  expect(() => parseSize(text)).toThrow('is not a size');
});
