import { posix } from 'node:path';
import type { Pod } from '@node-agent/pod-spec';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { downwardApiPayload } from '../src/downward-api-payload.ts';
import { nestedMountPoints } from '../src/nested-mounts.ts';
import { configMapPayload, type KeySelection, secretPayload } from '../src/object-payload.ts';
import { cleanPayload, type Payload } from '../src/payload.ts';
import { podUser, tokenMode } from '../src/token-owner.ts';
import { podOf } from './helpers.ts';

const shown = (payload: Payload): string[] =>
  [...payload].map(([path, { data, mode }]) => `${path} ${mode.toString(8)} ${Buffer.from(data)}`).sort();
const named = (...paths: string[]): Payload =>
  new Map(paths.map((path) => [path, { data: Buffer.from(path), mode: 0 }]));

describe('cleanPayload', () => {
  it.each([
    ['a', 'a'],
    ['a/b/c', 'a/b/c'],
    ['./a//b/.', 'a/b'],
    ['dir/', 'dir'],
    ['a/..b', 'a/..b'],
    ['...', undefined],
    ['', undefined],
    ['/etc/passwd', undefined],
    ['..', undefined],
    ['a/../b', undefined],
    ['..data', undefined],
    ['./..data/x', undefined],
    ['.', undefined],
    ['a\0b', undefined],
    [`a/${'é'.repeat(128)}`, undefined],
    ['x/'.repeat(2049), undefined],
  ])('W3: %j is %j', (path, clean) => {
    if (clean === undefined) expect(() => cleanPayload(named(path))).toThrow('invalid path: ');
    else expect([...cleanPayload(named(path)).keys()]).toEqual([clean]);
  });

  it('refuses a file below a file, and keeps the later one of two of one name', () => {
    expect(() => cleanPayload(named('a', 'a/b/c'))).toThrow('a/b/c is below a, which is a file');
    expect(shown(cleanPayload(named('./a', 'a')))).toEqual(['a 0 a']);
  });

  it('W3: lets nothing out of the volume, whatever it is called', () => {
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
    ['named keys', { items: [{ key: 'both', path: 'x/y', mode: 0o400 }] }, ['x/y 400 text']],
    [
      'optional keys',
      {
        items: [
          { key: 'gone', path: 'x' },
          { key: 'a', path: 'a' },
        ],
        optional: true,
      },
      ['a 644 é'],
    ],
    ['an empty list', { items: [] }, ['a 644 é', 'b 644 \ufffd\0', 'both 644 binary']],
  ])('%s', (_what, selection, files) => {
    expect(shown(configMapPayload('cm', configMap, selection, 0o644))).toEqual(files);
  });

  it('names what is missing', () => {
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
  it('decodes its values', () => {
    expect(shown(secretPayload('s', secret, {}, 0o600))).toEqual(['password 600 hunter2']);
    const items = [{ key: 'password', path: 'p', mode: 0o440 }];
    expect(shown(secretPayload('s', secret, { items }, 0o600))).toEqual(['p 440 hunter2']);
  });

  it('names what is missing, and no value', () => {
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
  ])('%j', (item, file) => {
    expect(shown(downwardApiPayload(pod, [item], 0o644, { cpu: '8' }))).toEqual([file]);
  });

  it('names each file that makes no sense', () => {
    const items = [
      { path: 'a', fieldRef: { fieldPath: 'spec.nodeName' } },
      resource('limits.cpu', 'gone'),
      { path: 'c' },
    ];
    expect(() => downwardApiPayload(pod, items, 0, {})).toThrow(
      'file a: unsupported fieldPath: spec.nodeName; file f: container gone not found; ' +
        'file c: one of fieldRef and resourceFieldRef is required',
    );
  });
});

describe('nestedMountPoints', () => {
  const pointsOf = (mounts: Readonly<Record<string, string>>): readonly string[] => {
    const volumeMounts = Object.entries(mounts).map(([mountPath, name]) => ({ name, mountPath }));
    return nestedMountPoints(podOf([], 'u1', { containers: [{ name: 'main', volumeMounts }] }), 'v');
  };

  it.each([
    [{ '/dir': 'v', '/dir/nested': 'w', '/dir/nested/double': 'x', '/dir/nested2': 'y' }, ['nested', 'nested2']],
    [{ '/dir': 'v', '/directory': 'w', '/other/dir': 'x' }, []],
    [{ '/dir/': 'v', '/a/../dir/b/c/': 'w' }, ['b/c']],
    [{ '/dir': 'w', '/dir/nested': 'v' }, []],
    [{ '/': 'v', '/x': 'w' }, ['x']],
  ])('%j', (mounts, points) => {
    expect(pointsOf(mounts)).toEqual(points);
  });

  it("W3: are never in the writer's own directories", () => {
    expect(() => pointsOf({ '/dir': 'v', '/dir/..data/x': 'w' })).toThrow('invalid container mount point ..data/x');
  });
});

describe('the owner of tokens', () => {
  const user = (runAsUser?: number) => (runAsUser === undefined ? {} : { securityContext: { runAsUser } });
  it.each([
    [undefined, [1000, 1000], 1000],
    [undefined, [1000, 1001], undefined],
    [undefined, [1000, undefined], undefined],
    [1000, [undefined, undefined], 1000],
    [1000, [undefined, 0], undefined],
    [undefined, [0, 0], 0],
    [undefined, [undefined, undefined], undefined],
  ])('pod %s, containers %j: %s', (ofPod, ofContainers, owner) => {
    const containers = ofContainers.map((uid, index) => ({ name: `c${index}`, ...user(uid) }));
    expect(podUser(podOf([], 'u1', { ...user(ofPod), containers }))).toBe(owner);
  });

  it('and who else may read them', () => {
    expect(tokenMode(0o644, undefined, undefined)).toBe(0o644);
    expect(tokenMode(0o644, 0, undefined)).toBe(0o600);
    expect(tokenMode(0o644, undefined, 0)).toBe(0o600);
  });
});
