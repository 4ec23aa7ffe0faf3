import { expect, test } from 'vitest';
import { nodeProblem } from '../src/node-version.ts';

test.each([
  ['20.20.2', 'needs Node.js 22.18 or newer; this is 20.20.2'],
  ['22.17.9', 'needs Node.js 22.18 or newer; this is 22.17.9'],
  ['22.18.0', undefined],
  ['24.0.0', undefined],
])('nodeProblem of Node.js %s returns: %s', (version, problem) => {
  expect(nodeProblem(version)).toBe(problem);
});
