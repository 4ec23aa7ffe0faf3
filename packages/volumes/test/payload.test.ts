import { posix } from 'node:path';
import type { Pod, PodSpec } from '@node-agent/pod-spec';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { nestedMountPoints, nestedMounts } from '../src/mount/nested-mounts.ts';
import { downwardApiPayload } from '../src/projected/downward-api-payload.ts';
import { configMapPayload, type KeySelection, secretPayload } from '../src/projected/object-payload.ts';
import { cleanPayload, type Payload } from '../src/projected/payload.ts';
import { podUser, tokenMode } from '../src/projected/token-owner.ts';
import { podOf } from './helpers.ts';

const shown = (payload: Payload): string[] =>
  [...payload].map(([path, { data, mode }]) => `${path} ${mode.toString(8)} ${Buffer.from(data)}`).sort();
const named = (...paths: string[]): Payload =>
  new Map(paths.map((path) => [path, { data: Buffer.from(path), mode: 0 }]));

describe('cleanPayload', () => {
  const longest = { name: `${'é'.repeat(127)}x`, path: `${'x/'.repeat(2047)}xx` };
  it.each([
    ['a', 'a'],
    ['a/b/c', 'a/b/c'],
    ['./a//b/.', 'a/b'],
    ['dir/', 'dir'],
    ['a/..b', 'a/..b'],
    [`a/${longest.name}`, `a/${longest.name}`],
    [longest.path, longest.path],
  ])('the path %j of a file in a volume is normalised to %j', (path, clean) => {
    expect([...cleanPayload(named(path)).keys()]).toEqual([clean]);
  });

  it.each([
    ['', 'must not be empty: ""'],
    ['...', "must not start with '..': ..."],
    ['/etc/passwd', 'must be relative path: /etc/passwd'],
    ['..', "must not contain '..': .."],
    ['a/../b', "must not contain '..': a/../b"],
    ['..data', "must not start with '..': ..data"],
    ['./..data/x', "must not start with '..': ./..data/x"],
    ['.', 'must name a file: .'],
    ['.//.', 'must name a file: .//.'],
    ['a\0b', 'must not contain a NUL character'],
    [`a/${'é'.repeat(128)}`, 'filenames must be less than or equal to 255 characters'],
    [`${longest.path}x`, 'must be less than or equal to 4096 characters'],
  ])('W3: refuses a file of a volume with the path %j: %s', (path, problem) => {
    expect(() => cleanPayload(named(path))).toThrow(
      expect.objectContaining({ code: 'InvalidPath', message: `invalid path: ${problem}` }),
    );
  });

  it('refuses a payload with a file below another file; of two files with one path the later one is written', () => {
    expect(() => cleanPayload(named('a', 'a/b/c'))).toThrow('a/b/c is below a, which is a file');
    expect(shown(cleanPayload(named('./a', 'a')))).toEqual(['a 0 a']);
  });

  it('W3: for random paths, no accepted file of a payload is outside of the volume', () => {
    const names = fc.constantFrom('..', '.', '', 'a', '..data', '..b', 'c d');
    fc.assert(
      fc.property(fc.array(names, { maxLength: 6 }), (parts) => {
        const path = parts.join('/');
        let clean: string | undefined;
        try {
          clean = [...cleanPayload(named(path)).keys()][0];
        } catch (error) {
          expect(error).toMatchObject({ code: 'InvalidPath' });
          return;
        }
        expect(posix.resolve('/v', clean ?? '..')).toBe(`/v/${clean}`);
        expect(clean?.startsWith('..')).toBe(false);
      }),
    );
  });
});

describe('configMapPayload', () => {
  const configMap = { data: { a: 'é', both: 'text' }, binaryData: { b: '/wA=', both: 'YmluYXJ5' } };
  it.each<[string, KeySelection, string[]]>([
    ['all keys', {}, ['a 644 é', 'b 644 \ufffd\0', 'both 644 binary']],
    ['a selected key', { items: [{ key: 'both', path: 'x/y', mode: 0o400 }] }, ['x/y 400 text']],
    [
      'only the existing keys if it is optional',
      {
        items: [
          { key: 'gone', path: 'x' },
          { key: 'a', path: 'a' },
        ],
        optional: true,
      },
      ['a 644 é'],
    ],
    ['all keys if the list of keys is empty', { items: [] }, ['a 644 é', 'b 644 \ufffd\0', 'both 644 binary']],
  ])('a configMap volume contains the files of %s: $2', (_what, selection, files) => {
    expect(shown(configMapPayload('cm', configMap, selection, 0o644))).toEqual(files);
  });

  it('a configMap volume with missing keys is refused with an error that names the missing keys', () => {
    const items = [{ key: 'toString', path: 'x' }];
    expect(() => configMapPayload('cm', configMap, { items }, 0)).toThrow(
      'configmap references non-existent config key: toString',
    );
    expect(() => configMapPayload('cm', undefined, {}, 0)).toThrow('configmap "cm" not found');
    expect(shown(configMapPayload('cm', undefined, { items, optional: true }, 0))).toEqual([]);
  });
});

describe('secretPayload', () => {
  const secret = { data: { password: 'aHVudGVyMg==' } };
  it('a secret volume contains the decoded values of the selected keys', () => {
    expect(shown(secretPayload('s', secret, {}, 0o600))).toEqual(['password 600 hunter2']);
    const items = [{ key: 'password', path: 'p', mode: 0o440 }];
    expect(shown(secretPayload('s', secret, { items }, 0o600))).toEqual(['p 440 hunter2']);
  });

  it('a secret volume with missing keys is refused with an error that names the missing keys but no value', () => {
    const items = [{ key: 'user', path: 'u' }];
    expect(() => secretPayload('s', secret, { items }, 0)).toThrow(/^references non-existent secret key: user$/);
    expect(() => secretPayload('s', undefined, {}, 0)).toThrow('secret "s" not found');
    expect(shown(secretPayload('s', undefined, { optional: true }, 0))).toEqual([]);
  });
});

describe('downwardApiPayload', () => {
  const pod: Pod = podOf([], 'u1', {
    initContainers: [{ name: 'init' }],
    containers: [{ name: 'main', resources: { requests: { cpu: '250m' } } }],
  });
  const resource = (name: string, containerName: string, divisor?: string) => ({
    path: 'f',
    resourceFieldRef: { resource: name, containerName, ...(divisor && { divisor }) },
  });

  it.each([
    [{ path: 'd/name', fieldRef: { fieldPath: 'metadata.name' } }, 'd/name 644 pod-u1'],
    [{ path: 'f', mode: 0o400, fieldRef: { fieldPath: 'metadata.uid' } }, 'f 400 u1'],
    [resource('requests.cpu', 'main', '1m'), 'f 644 250'],
    [resource('limits.cpu', 'main'), 'f 644 8'],
    [resource('limits.cpu', 'init'), 'f 644 8'],
    [resource('limits.memory', 'main'), 'f 644 0'],
  ])('a downward API volume with the item %j contains the file "%s"', (item, file) => {
    expect(shown(downwardApiPayload(pod, [item], 0o644, { cpu: '8' }))).toEqual([file]);
  });

  it('a downward API volume with invalid items is refused with an error that names each of them', () => {
    const items = [
      { path: 'a', fieldRef: { fieldPath: 'spec.nodeName' } },
      resource('limits.cpu', 'gone'),
      { path: 'c' },
      { path: 'd', resourceFieldRef: { resource: 'limits.cpu' } },
    ];
    const message =
      'file a: unsupported fieldPath: spec.nodeName; file f: container gone not found; ' +
      'file c: one of fieldRef and resourceFieldRef is required; file d: container  not found';
    for (const each of [pod, podOf([])]) {
      expect(() => downwardApiPayload(each, items, 0, {})).toThrow(
        expect.objectContaining({ code: 'InvalidSource', message }),
      );
      expect(() => downwardApiPayload(each, items.slice(0, 1), 0, {})).toThrow('file a: unsupported fieldPath');
    }
  });

  it('an unexpected exception is rethrown and not reported as an invalid downward API item', () => {
    const failure = new Error('no machine');
    const allocatable = {
      get cpu(): string {
        throw failure;
      },
    };
    expect(() => downwardApiPayload(pod, [resource('limits.cpu', 'main')], 0, allocatable)).toThrow(failure);
  });
});

describe('nestedMountPoints', () => {
  const pointsOf = (mounts: Readonly<Record<string, string>>): readonly string[] => {
    const volumeMounts = Object.entries(mounts).map(([mountPath, name]) => ({ name, mountPath }));
    return nestedMountPoints(nestedMounts(podOf([], 'u1', { containers: [{ name: 'main', volumeMounts }] })), 'v');
  };

  it.each([
    [{ '/dir': 'v', '/dir/nested': 'w', '/dir/nested/double': 'x', '/dir/nested2': 'y' }, ['nested', 'nested2']],
    [{ '/dir': 'v', '/directory': 'w', '/other/dir': 'x' }, []],
    [{ '/dir/': 'v', '/a/../dir/b/c/': 'w' }, ['b/c']],
    [{ '/dir': 'w', '/dir/nested': 'v' }, []],
    [{ '/': 'v', '/x': 'w' }, ['x']],
    [{ dir: 'v', '/dir/b': 'w', 'dir/a': 'x' }, ['a', 'b']],
    [{ '/dir': 'v', '/dir/a': 'w', '/dir/a!': 'w', '/dir/a/b': 'w', '/dir/a.': 'w' }, ['a', 'a!', 'a.']],
    [{ '/dir': 'v', '/dir/a/b': 'v', '/dir/a/b/c/d': 'w', '/e': 'w' }, ['a/b', 'c/d']],
    [{ '/dir': 'v', dir: 'w', '/dir/a': 'w' }, ['a']],
    [{ '/dir': 'w', dir: 'v', '/dir/a': 'w' }, ['a']],
  ])('the volumeMounts %j require the mount points %j in volume v', (mounts, points) => {
    expect(pointsOf(mounts)).toEqual(points);
  });

  it("W3: a mount point inside a volume is never in the atomic writer's own directories", () => {
    expect(() => pointsOf({ '/dir': 'v', '/dir/..data/x': 'w' })).toThrow('invalid container mount point ..data/x');
    expect(() => pointsOf({ '/dir': 'v', '/dir/a\0': 'w' })).toThrow('invalid container mount point a\0');
  });

  // Comparing each pair would exceed the test's timeout.
  it('W6: finds the mount points inside a volume among 80,000 mounts without comparing each pair of mounts', () => {
    const names = Array.from({ length: 80_000 }, (_, index) => `${index}`);
    const mounts = Object.fromEntries([['/dir', 'v'], ...names.map((name) => [`/dir/${name}`, 'w'])]);
    expect(pointsOf(mounts)).toEqual(names.sort());
  });

  it("mount points inside a volume come from init, main and ephemeral containers, each container's mounts taken alone", () => {
    const nesting = (name: string) => ({
      name,
      volumeMounts: [
        { name: 'v', mountPath: `/${name}` },
        { name: 'w', mountPath: `/${name}/of-${name}` },
        { name: 'w', mountPath: '/main/of-all' },
      ],
    });
    const pod = podOf([], 'u1', {
      initContainers: [nesting('init')],
      containers: [nesting('main')],
      ephemeralContainers: [nesting('ephemeral')],
    });
    expect(nestedMountPoints(nestedMounts(pod), 'v')).toEqual(['of-all', 'of-ephemeral', 'of-init', 'of-main']);
  });
});

describe('the owner of service account token files', () => {
  const user = (runAsUser?: number) => (runAsUser === undefined ? {} : { securityContext: { runAsUser } });
  it.each([
    [undefined, [1000, 1000], 1000],
    [undefined, [1000, 1001], undefined],
    [undefined, [1000, undefined], undefined],
    [1000, [undefined, undefined], 1000],
    [1000, [undefined, 0], undefined],
    [undefined, [0, 0], 0],
    [undefined, [undefined, undefined], undefined],
  ])(
    'a service account token in a pod with runAsUser %s and the containers %j is owned by %s',
    (ofPod, ofContainers, owner) => {
      const containers = ofContainers.map((uid, index) => ({ name: `c${index}`, ...user(uid) }));
      const [first, ...others] = containers;
      for (const spec of [
        { containers },
        { containers: others, initContainers: [first] },
        { containers: [first], ephemeralContainers: others },
      ] as Partial<PodSpec>[]) {
        expect(podUser(podOf([], 'u1', { ...user(ofPod), ...spec }))).toBe(owner);
      }
    },
  );

  it("a service account token file has mode 0600 if it has an owner or an fsGroup, otherwise the volume's default mode", () => {
    expect(tokenMode(0o644, undefined, undefined)).toBe(0o644);
    expect(tokenMode(0o644, 0, undefined)).toBe(0o600);
    expect(tokenMode(0o644, undefined, 0)).toBe(0o600);
  });
});
