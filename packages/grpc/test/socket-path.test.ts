import { expect, it } from 'vitest';
import { socketPathProblem } from '../src/socket-path.ts';

it.each([
  ['/run/a.sock', undefined],
  [`/${'x'.repeat(106)}`, undefined],
  [`/${'x'.repeat(107)}`, 'at most 107 bytes, not 108'],
  // The limit counts bytes and not characters.
  [`/${'é'.repeat(53)}`, undefined],
  [`/${'é'.repeat(54)}`, 'at most 107 bytes, not 109'],
  ['a.sock', 'a.sock: the path of a socket must be absolute'],
  ['', 'absolute'],
])('the problem of the socket path %s is: %s', (path, problem) => {
  if (problem === undefined) expect(socketPathProblem(path)).toBeUndefined();
  else expect(socketPathProblem(path)).toContain(problem);
});
