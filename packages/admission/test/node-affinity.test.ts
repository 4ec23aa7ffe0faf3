import type { Pod } from '@node-agent/pod-spec';
import { describe, expect, test } from 'vitest';
import { matchesNodeAffinity } from '../src/node-affinity.ts';
import { makePod } from './pods.ts';

const node = { metadata: { name: 'n1', labels: { zone: 'a', disks: '4', empty: '' } } };

const requiring = (nodeSelectorTerms: readonly unknown[] | undefined): Pod => {
  const affinity = { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } } };
  return makePod('p', {}, { affinity } as Partial<Pod['spec']>);
};
const expression = (key: string, operator: string, ...values: string[]): Pod =>
  requiring([{ matchExpressions: [{ key, operator, values }] }]);
const field = (key: string, operator: string, ...values: string[]): Pod =>
  requiring([{ matchFields: [{ key, operator, values }] }]);

describe('node selector', () => {
  test.each([
    [{}, true],
    [{ zone: 'a' }, true],
    [{ zone: 'a', empty: '' }, true],
    [{ zone: 'b' }, false],
    [{ zone: 'a', other: 'x' }, false],
    // What every object inherits is no label.
    [{ constructor: 'x' }, false],
  ])('%j: %s', (nodeSelector, matches) => {
    expect(matchesNodeAffinity(makePod('p', {}, { nodeSelector }), node)).toBe(matches);
  });
});

describe('required node affinity', () => {
  test.each([
    ['In', expression('zone', 'In', 'b', 'a'), true],
    ['In, another value', expression('zone', 'In', 'b'), false],
    ['In, no label', expression('other', 'In', 'a'), false],
    ['NotIn', expression('zone', 'NotIn', 'b'), true],
    ['NotIn, its value', expression('zone', 'NotIn', 'a'), false],
    ['NotIn, no label', expression('other', 'NotIn', 'a'), true],
    ['NotIn of nothing is malformed', expression('other', 'NotIn'), false],
    ['NotIn of what no label can be is malformed', expression('zone', 'NotIn', '-'), false],
    ['Exists', expression('empty', 'Exists'), true],
    ['Exists, no label', expression('other', 'Exists'), false],
    ['Exists with a value is malformed', expression('zone', 'Exists', 'a'), false],
    ['DoesNotExist', expression('other', 'DoesNotExist'), true],
    ['DoesNotExist, a label', expression('zone', 'DoesNotExist'), false],
    ['Gt', expression('disks', 'Gt', '3'), true],
    ['Gt, equal', expression('disks', 'Gt', '4'), false],
    ['Lt', expression('disks', 'Lt', '5'), true],
    ['Lt, equal', expression('disks', 'Lt', '4'), false],
    ['Gt of a label that is no number', expression('zone', 'Gt', '3'), false],
    ['Lt of a label that is not there', expression('other', 'Lt', '3'), false],
    ['Lt of two limits is malformed', expression('disks', 'Lt', '5', '6'), false],
    ['an operator that there is not', expression('zone', 'Near', 'a'), false],
    ['the name of the node', field('metadata.name', 'In', 'n1'), true],
    ['another name', field('metadata.name', 'In', 'n2'), false],
    ['not this name', field('metadata.name', 'NotIn', 'n1'), false],
    ['two names are malformed', field('metadata.name', 'In', 'n1', 'n2'), false],
    ['another name, not this one', field('metadata.name', 'NotIn', 'n2'), true],
    ['a name that is there at all is malformed', field('metadata.name', 'Exists', 'n2'), false],
    ['a field that no node is chosen by is empty', field('metadata.uid', 'In', 'n1'), false],
    ['a field that no node is chosen by is empty, and nothing else', field('metadata.uid', 'In', ''), true],
    ['what every object inherits is no label', expression('constructor', 'Exists'), false],
    ['DoesNotExist of what no label can be is malformed', expression('no key', 'DoesNotExist'), false],
    ['no list of terms', requiring(undefined), false],
    ['no terms', requiring([]), false],
    ['an empty term', requiring([{}]), false],
    [
      'one term of two',
      requiring([
        { matchExpressions: [{ key: 'zone', operator: 'In', values: ['b'] }] },
        { matchExpressions: [{ key: 'disks', operator: 'Exists' }] },
      ]),
      true,
    ],
    [
      'both parts of a term',
      requiring([
        {
          matchExpressions: [{ key: 'zone', operator: 'In', values: ['a'] }],
          matchFields: [{ key: 'metadata.name', operator: 'In', values: ['n2'] }],
        },
      ]),
      false,
    ],
    [
      'both parts of a term, and both hold',
      requiring([
        {
          matchExpressions: [{ key: 'zone', operator: 'In', values: ['a'] }],
          matchFields: [{ key: 'metadata.name', operator: 'In', values: ['n1'] }],
        },
      ]),
      true,
    ],
  ])('%s', (_title, pod, matches) => {
    expect(matchesNodeAffinity(pod, node)).toBe(matches);
  });

  test('a node without labels is one that has none of them', () => {
    const bare = { metadata: { name: 'n1' } };
    expect(matchesNodeAffinity(expression('zone', 'Exists'), bare)).toBe(false);
    expect(matchesNodeAffinity(expression('zone', 'DoesNotExist'), bare)).toBe(true);
  });

  test.each([
    ['-9223372036854775808', true],
    ['-9223372036854775809', false],
    ['+3', true],
    ['3.0', false],
    ['', false],
  ])('a label that is %j is a number of 64 bits: %s', (value, isNumber) => {
    const of = { metadata: { name: 'n1', labels: { disks: value } } };
    expect(matchesNodeAffinity(expression('disks', 'Lt', '9223372036854775807'), of)).toBe(isNumber);
  });
});
