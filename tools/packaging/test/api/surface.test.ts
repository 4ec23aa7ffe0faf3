import { describe, expect, it } from 'vitest';
import { type ApiReport, exportedNames, reportChanges, unnameable } from '../../src/api/surface.ts';

function report(file: string, text: string, ...unexported: string[]): ApiReport {
  const names = unexported.map((name, index) => ({ name, where: `src/a.ts:${index + 1}` }));
  return { directory: 'packages/a', file, text, unexported: names, faults: [] };
}

describe('exportedNames', () => {
  it.each([
    ['export interface One {', 'One'],
    ['export abstract class One implements Two {', 'One'],
    ['export function one(two: number): void;', 'one'],
    ['export const ONE: number;', 'ONE'],
    ["export type One = 'a';", 'One'],
    ['export { One }', 'One'],
    ['export { Two as One }', 'One'],
  ])('exportedNames reads the exported name of %s', (line, name) => {
    expect(exportedNames(`import { Other } from 'other';\n${line}\n    readonly no: string;\n`)).toEqual([name]);
  });
});

describe('unnameable', () => {
  it('unnameable reports a name in a signature that no entry of the package exports', () => {
    expect(unnameable([report('index.api.md', '', 'Hidden')])).toEqual([
      'src/a.ts:1: Hidden is part of the public surface, but no entry exports it',
    ]);
  });

  it('unnameable ignores a name that another entry of the same package exports', () => {
    const index = report('index.api.md', 'export interface Clock {\n}\n');
    expect(unnameable([index, report('testing.api.md', '', 'Clock')])).toEqual([]);
  });

  it('unnameable ignores a name in the declarations of a bundled library', () => {
    const bundled = { name: 'Hidden', where: 'packages/a/dist/library/index.d.ts:1' };
    expect(unnameable([{ ...report('index.api.md', ''), unexported: [bundled] }])).toEqual([]);
  });

  it('unnameable reports a name that only another package exports', () => {
    const other = { ...report('index.api.md', 'export interface Clock {\n}\n'), directory: 'packages/b' };
    expect(unnameable([other, report('testing.api.md', '', 'Clock')])).toHaveLength(1);
  });
});

describe('reportChanges', () => {
  const kept = new Map([['a.api.md', 'export function one(): void;\nexport function two(): void;\n']]);

  it('reportChanges is empty if no API report has changed', () => {
    expect(reportChanges([report('a.api.md', kept.get('a.api.md') ?? '')], kept)).toEqual([]);
  });

  it('reportChanges returns the lines of an API report that differ', () => {
    const now = report('a.api.md', 'export function one(): number;\nexport function two(): void;\n');
    expect(reportChanges([now], kept)).toEqual([
      {
        fault: 'a.api.md: differs from the current public surface',
        lines: ['- export function one(): void;', '+ export function one(): number;'],
      },
    ]);
  });

  it('reportChanges finds a missing report of a new entry, and a report whose entry was removed', () => {
    expect(reportChanges([report('b.api.md', '')], kept).map(({ fault }) => fault)).toEqual([
      'b.api.md: missing',
      'a.api.md: belongs to no entry of a package',
    ]);
  });
});
