import { expect, test } from 'vitest';
import { fnv32a, goMap, goPointer, goScalar, goSlice, goStruct } from '../src/index.ts';

// The texts and checksums were printed by upstream's code for the same values.
const entries = goMap('map[string]map[string]string', [
  [
    'u b',
    goMap('', [
      ['c', goScalar('string', '2-3')],
      ['a', goScalar('string', '4')],
    ]),
  ],
  ['a', goMap('', [])],
]);

test('goDump prints nested maps with sorted keys and without the types of their elements', () => {
  expect(entries.typed).toBe('(map[string]map[string]string)map[a:map[] u b:map[a:4 c:2-3]]');
});

test('goDump sorts integer keys by number', () => {
  const nodes = goMap('state.NUMANodeMap', [
    [10, goPointer('state.Node', goStruct('state.Node', { Cells: goSlice('[]int', [goScalar('int', 10)]) }))],
    [2, goPointer('state.Node', goStruct('state.Node', { Cells: goSlice('[]int', null) }))],
  ]);
  expect(nodes.typed).toBe('(state.NUMANodeMap)map[2:<*>{Cells:([]int)<nil>} 10:<*>{Cells:([]int)[10]}]');
});

test('goDump prints a nil map', () => {
  expect(goMap('map[string]string', null)).toEqual({ typed: '(map[string]string)<nil>', bare: '<nil>' });
});

test("the hash of a structure's dump is the same as upstream's", () => {
  const checkpoint = goStruct('state.CPUManagerCheckpoint', {
    PolicyName: goScalar('string', 'static'),
    DefaultCPUSet: goScalar('string', '0-1'),
    Entries: entries,
    Checksum: goScalar('checksum.Checksum', 0),
  });
  expect(fnv32a(goPointer('state.CPUManagerCheckpoint', checkpoint).typed)).toBe(2_202_980_046);
});

test('the FNV hash of a string is computed over its UTF-8 bytes', () => {
  expect(fnv32a('\u00e9')).not.toBe(fnv32a('e'));
  expect(fnv32a('')).toBe(0x811c9dc5);
});
