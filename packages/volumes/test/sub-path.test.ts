import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { subPathOf } from '../src/paths/sub-path.ts';

const environment = [
  { name: 'POD', value: 'web-0' },
  { name: 'EMPTY', value: '' },
  { name: 'UP', value: '..' },
  { name: 'ROOT', value: '/etc' },
];

describe('subPathOf', () => {
  it.each([
    [{}, ''],
    [{ subPath: '' }, ''],
    [{ subPath: 'a/b' }, 'a/b'],
    [{ subPath: '$(POD)' }, '$(POD)'],
    [{ subPathExpr: 'logs/$(POD)' }, 'logs/web-0'],
    [{ subPathExpr: '$$(POD)/$(POD' }, '$(POD)/$(POD'],
    [{ subPath: '..a/b..' }, '..a/b..'],
  ])('the subPath of the volumeMount %j is %j', (mount, path) => {
    expect(subPathOf(mount, environment)).toBe(path);
  });

  it.each([
    [{ subPath: '/etc' }, 'error SubPath `/etc` must not be an absolute path'],
    [{ subPath: 'a/../b' }, "unable to provision SubPath `a/../b`: must not contain '..'"],
    [{ subPathExpr: 'a/$(UP)' }, "unable to provision SubPath `a/..`: must not contain '..'"],
    [{ subPathExpr: '$(ROOT)' }, 'error SubPath `/etc` must not be an absolute path'],
    [{ subPathExpr: '$(Z)/$(EMPTY)/$(A)/$(A)' }, 'missing value for A, EMPTY, Z'],
    [{ subPath: 'a\0b' }, 'unable to provision SubPath: must not contain a NUL character'],
  ])('W3: refuses the volumeMount %j because its subPath leads out of the volume', (mount, message) => {
    expect(() => subPathOf(mount, environment)).toThrow(expect.objectContaining({ code: 'InvalidPath', message }));
  });

  it('W3: for random paths, no accepted subPath leads out of the volume', () => {
    const part = fc.oneof(fc.string(), fc.constantFrom('..', '/', '.', '$(UP)', '$(ROOT)', '\0'));
    fc.assert(
      fc.property(fc.array(part), fc.boolean(), (parts, isExpression) => {
        const text = parts.join('/');
        let path: string;
        try {
          path = subPathOf(isExpression ? { subPathExpr: text } : { subPath: text }, environment);
        } catch {
          return;
        }
        expect(path.startsWith('/') || path.split('/').includes('..') || path.includes('\0')).toBe(false);
      }),
    );
  });
});
