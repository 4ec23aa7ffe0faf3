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

describe('matchesNodeAffinity: node selector', () => {
  test.each([
    [{}, true],
    [{ zone: 'a' }, true],
    [{ zone: 'a', empty: '' }, true],
    [{ zone: 'b' }, false],
    [{ zone: 'a', other: 'x' }, false],
    // Properties that every object inherits are not labels.
    [{ constructor: 'x' }, false],
  ])('matchesNodeAffinity with node selector %j is %s', (nodeSelector, matches) => {
    expect(matchesNodeAffinity(makePod('p', {}, { nodeSelector }), node)).toBe(matches);
  });
});

describe('matchesNodeAffinity: required node affinity', () => {
  test.each([
    ['In', expression('zone', 'In', 'b', 'a'), true],
    ['In, another value', expression('zone', 'In', 'b'), false],
    ['In, no label', expression('other', 'In', 'a'), false],
    ['NotIn', expression('zone', 'NotIn', 'b'), true],
    ['NotIn, its value', expression('zone', 'NotIn', 'a'), false],
    ['NotIn, no label', expression('other', 'NotIn', 'a'), true],
    ['NotIn without values: malformed, so no node matches', expression('other', 'NotIn'), false],
    ['NotIn with an invalid label value: malformed, so no node matches', expression('zone', 'NotIn', '-'), false],
    ['Exists', expression('empty', 'Exists'), true],
    ['Exists, no label', expression('other', 'Exists'), false],
    ['Exists with a value: malformed, so no node matches', expression('zone', 'Exists', 'a'), false],
    ['DoesNotExist', expression('other', 'DoesNotExist'), true],
    ['DoesNotExist, a label', expression('zone', 'DoesNotExist'), false],
    ['Gt', expression('disks', 'Gt', '3'), true],
    ['Gt, equal', expression('disks', 'Gt', '4'), false],
    ['Lt', expression('disks', 'Lt', '5'), true],
    ['Lt, equal', expression('disks', 'Lt', '4'), false],
    ['Gt for a label that is not a number', expression('zone', 'Gt', '3'), false],
    ['Lt for a missing label', expression('other', 'Lt', '3'), false],
    ['Lt with two values: malformed, so no node matches', expression('disks', 'Lt', '5', '6'), false],
    ['an unknown operator', expression('zone', 'Near', 'a'), false],
    ['In with the name of the node', field('metadata.name', 'In', 'n1'), true],
    ['In with another node name', field('metadata.name', 'In', 'n2'), false],
    ['NotIn with the name of the node', field('metadata.name', 'NotIn', 'n1'), false],
    ['In with two node names: malformed, so no node matches', field('metadata.name', 'In', 'n1', 'n2'), false],
    ['NotIn with another node name', field('metadata.name', 'NotIn', 'n2'), true],
    ['Exists for the node name: malformed, so no node matches', field('metadata.name', 'Exists', 'n2'), false],
    ['In for an unsupported field, whose value is empty', field('metadata.uid', 'In', 'n1'), false],
    ['In with an empty value for an unsupported field', field('metadata.uid', 'In', ''), true],
    ['Exists for the name of an inherited property', expression('constructor', 'Exists'), false],
    [
      'DoesNotExist with an invalid label key: malformed, so no node matches',
      expression('no key', 'DoesNotExist'),
      false,
    ],
    ['no list of terms', requiring(undefined), false],
    ['no terms', requiring([]), false],
    ['an empty term', requiring([{}]), false],
    [
      'two terms, one of which matches',
      requiring([
        { matchExpressions: [{ key: 'zone', operator: 'In', values: ['b'] }] },
        { matchExpressions: [{ key: 'disks', operator: 'Exists' }] },
      ]),
      true,
    ],
    [
      'a term with expressions and fields, not all of which match',
      requiring([
        {
          matchExpressions: [{ key: 'zone', operator: 'In', values: ['a'] }],
          matchFields: [{ key: 'metadata.name', operator: 'In', values: ['n2'] }],
        },
      ]),
      false,
    ],
    [
      'a term with expressions and fields, all of which match',
      requiring([
        {
          matchExpressions: [{ key: 'zone', operator: 'In', values: ['a'] }],
          matchFields: [{ key: 'metadata.name', operator: 'In', values: ['n1'] }],
        },
      ]),
      true,
    ],
  ])('matchesNodeAffinity with a required term (%s): $2', (_title, pod, matches) => {
    expect(matchesNodeAffinity(pod, node)).toBe(matches);
  });

  test('matchesNodeAffinity treats a node without a labels field as a node that has no labels', () => {
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
  ])('matchesNodeAffinity accepts the label value %j as a 64-bit integer for Lt: %s', (value, isNumber) => {
    const of = { metadata: { name: 'n1', labels: { disks: value } } };
    expect(matchesNodeAffinity(expression('disks', 'Lt', '9223372036854775807'), of)).toBe(isNumber);
  });
});
