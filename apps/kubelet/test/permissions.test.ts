import { expect, it } from 'vitest';
import { permissionProblem, withPermissionProblem } from '../src/process/permissions.ts';

it.each([
  [0, undefined],
  [undefined, undefined],
  [1000, 'kubelet needs to run as uid `0`. It is being run as 1000'],
])('for the user ID %s the permission problem is %s', (uid, problem) => {
  expect(permissionProblem(uid)).toBe(problem);
});

const denied = Object.assign(new Error("EACCES: permission denied, mkdir '/var/lib/kubelet'"), { code: 'EACCES' });
const broken = Object.assign(new Error('EIO: i/o error'), { code: 'EIO' });

it('the error of a denied operation starts with the message that the kubelet needs root', () => {
  const error = withPermissionProblem(new Error('cannot start', { cause: denied }), 1000);
  expect(error).toBeInstanceOf(Error);
  expect(String(error)).toMatch(/^Error: kubelet needs to run as uid `0`. It is being run as 1000: cannot start/);
});

it.each([
  [denied, 0],
  [broken, 1000],
  ['text', 1000],
])('the error %s is returned unchanged for the user ID %d', (error, uid) => {
  expect(withPermissionProblem(error, uid)).toBe(error);
});
