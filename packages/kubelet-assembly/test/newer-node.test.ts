import type { Node } from '@node-agent/node-status';
import { expect, test } from 'vitest';
import { newerNode } from '../src/newer-node.ts';

const node = (uid: string, resourceVersion?: string): Node => ({
  metadata: { name: 'n', uid, ...(resourceVersion !== undefined && { resourceVersion }) },
});

test.each([
  ['the read one if its version is greater', node('u', '9'), node('u', '10'), 'fresh'],
  ['the watched one if its version is greater', node('u', '11'), node('u', '10'), 'watched'],
  ['the watched one if the versions are equal', node('u', '10'), node('u', '10'), 'watched'],
  ['the watched one if the UIDs differ', node('v', '9'), node('u', '10'), 'watched'],
  ['the watched one if versions are no numbers', node('u', 'a9'), node('u', 'b1'), 'watched'],
  ['the watched one if a version is missing', node('u'), node('u', '10'), 'watched'],
])('newerNode returns, of the watched and the read Node object, %s', (_, watched, fresh, which) => {
  expect(newerNode(watched, fresh)).toBe(which === 'fresh' ? fresh : watched);
});

test('newerNode returns no Node until the watch has delivered one', () => {
  expect(newerNode(undefined, node('u', '1'))).toBeUndefined();
});
