import type { Node } from '@node-agent/node-status';
import { expect, test } from 'vitest';
import { newerNode } from '../src/newer-node.ts';

const node = (uid: string, resourceVersion?: string): Node => ({
  metadata: { name: 'n', uid, ...(resourceVersion !== undefined && { resourceVersion }) },
});

test.each([
  ['the one with the greater version is newer', node('u', '9'), node('u', '10'), 'fresh'],
  ['a watch that has come further is', node('u', '11'), node('u', '10'), 'watched'],
  ['of one version it is the same', node('u', '10'), node('u', '10'), 'watched'],
  ['another object of the name is none', node('v', '9'), node('u', '10'), 'watched'],
  ['versions that are no numbers cannot be compared', node('u', 'a9'), node('u', 'b1'), 'watched'],
  ['nor can a version that is missing', node('u'), node('u', '10'), 'watched'],
])('newerNode of watched and read: %s', (_, watched, fresh, which) => {
  expect(newerNode(watched, fresh)).toBe(which === 'fresh' ? fresh : watched);
});

test('returns undefined until the watch has delivered the Node', () => {
  expect(newerNode(undefined, node('u', '1'))).toBeUndefined();
});
