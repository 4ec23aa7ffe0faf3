import { describe, expect, test } from 'vitest';
import { matchesNodeSelectorTerms, type NodeSelectorRequirement, type NodeSelectorTerm } from '../src/index.ts';

const node = { name: 'n1', labels: { zone: 'a', disks: '4', empty: '' } };
const asks = (key: string, operator: string, ...values: string[]): NodeSelectorRequirement => ({
  key,
  operator,
  values,
});
const label = (...given: Parameters<typeof asks>): NodeSelectorTerm => ({ matchExpressions: [asks(...given)] });
const field = (...given: Parameters<typeof asks>): NodeSelectorTerm => ({ matchFields: [asks(...given)] });

describe('terms of a node selector', () => {
  test.each<[what: string, terms: readonly NodeSelectorTerm[], matches: boolean]>([
    ['In', [label('zone', 'In', 'b', 'a')], true],
    ['In, another value', [label('zone', 'In', 'b')], false],
    ['In, no label', [label('other', 'In', 'a')], false],
    ['NotIn', [label('zone', 'NotIn', 'b')], true],
    ['NotIn, its value', [label('zone', 'NotIn', 'b', 'a')], false],
    ['NotIn, no label', [label('other', 'NotIn', 'a')], true],
    ['NotIn of nothing is malformed', [label('other', 'NotIn')], false],
    ['NotIn of what no label can be is malformed', [label('zone', 'NotIn', 'b', '-')], false],
    ['Exists', [label('empty', 'Exists')], true],
    ['Exists, no label', [label('other', 'Exists')], false],
    ['Exists with a value is malformed', [label('zone', 'Exists', 'a')], false],
    ['DoesNotExist', [label('other', 'DoesNotExist')], true],
    ['DoesNotExist, a label', [label('zone', 'DoesNotExist')], false],
    ['DoesNotExist with a value is malformed', [label('other', 'DoesNotExist', 'a')], false],
    ['DoesNotExist of what no key can be is malformed', [label('no key', 'DoesNotExist')], false],
    ['Exists without a list', [{ matchExpressions: [{ key: 'zone', operator: 'Exists' }] }], true],
    ['what every object inherits is no label', [label('constructor', 'Exists')], false],
    ['Gt', [label('disks', 'Gt', '3')], true],
    ['Gt, equal', [label('disks', 'Gt', '4')], false],
    ['Gt, no number', [label('zone', 'Gt', '3')], false],
    ['Gt of two limits is malformed', [label('disks', 'Gt', '2', '3')], false],
    ['Lt', [label('disks', 'Lt', '5')], true],
    ['Lt, equal', [label('disks', 'Lt', '4')], false],
    ['Lt, no label', [label('other', 'Lt', '3')], false],
    ['an operator that there is not', [label('zone', 'Near', 'a')], false],
    ['the name', [field('metadata.name', 'In', 'n1')], true],
    ['another name', [field('metadata.name', 'In', 'n2')], false],
    ['not this name', [field('metadata.name', 'NotIn', 'n1')], false],
    ['not another name', [field('metadata.name', 'NotIn', 'n2')], true],
    ['two names are malformed', [field('metadata.name', 'In', 'n1', 'n2')], false],
    ['no name is malformed', [{ matchFields: [{ key: 'metadata.name', operator: 'NotIn' }] }], false],
    ['a name that is there at all is malformed', [field('metadata.name', 'Exists', 'n2')], false],
    ['any other field is empty', [field('metadata.uid', 'In', '')], true],
    ['any other field is empty, and nothing else', [field('metadata.uid', 'In', 'n1')], false],
    ['no terms', [], false],
    ['an empty term', [{}], false],
    ['a term of empty lists', [{ matchExpressions: [], matchFields: [] }], false],
    ['one term of two', [label('zone', 'In', 'b'), label('disks', 'Exists')], true],
    ['one requirement of two', [{ matchExpressions: [asks('zone', 'Exists'), asks('other', 'Exists')] }], false],
    [
      'one field of two',
      [{ matchFields: [asks('metadata.name', 'In', 'n1'), asks('metadata.uid', 'In', 'u')] }],
      false,
    ],
    ['the label, not the name', [{ ...label('zone', 'Exists'), ...field('metadata.name', 'In', 'n2') }], false],
    ['the name, not the label', [{ ...label('other', 'Exists'), ...field('metadata.name', 'In', 'n1') }], false],
    ['label and name', [{ ...label('zone', 'Exists'), ...field('metadata.name', 'In', 'n1') }], true],
  ])('the node matches node selector terms with %s: $2', (_what, terms, matches) => {
    expect(matchesNodeSelectorTerms(terms, node)).toBe(matches);
  });

  test.each<[what: string, term: NodeSelectorTerm, matches: boolean]>([
    ['a required node name is ignored', field('metadata.name', 'In', 'n2'), true],
    ['another required field is ignored', field('metadata.uid', 'NotIn', ''), true],
    ['required labels are checked', { ...label('zone', 'In', 'b'), ...field('metadata.name', 'In', 'n2') }, false],
    ['a malformed term matches no node', field('metadata.name', 'Exists'), false],
  ])("without the node's name, %s, so the node matches: $2", (_what, term, matches) => {
    expect(matchesNodeSelectorTerms([term], { labels: node.labels })).toBe(matches);
  });
});
