import fs from 'node:fs';
import { afterEach, describe, expect, it } from 'vitest';
import { apiReports } from '../../src/api/reports.ts';
import { sampleCheckout } from '../checkout.ts';

const directories: string[] = [];
afterEach(() => {
  for (const directory of directories.splice(0)) fs.rmSync(directory, { recursive: true, force: true });
});

function checkout(declarations: Readonly<Record<string, string>>) {
  const files = Object.entries(declarations).map(([name, text]) => [`packages/sample/dist/${name}`, text]);
  const made = sampleCheckout(Object.fromEntries(files));
  directories.push(made.root);
  return made;
}

describe('apiReports', () => {
  it('an API report contains the exports of an entry', { timeout: 60_000 }, () => {
    const { root, packages } = checkout({ 'index.d.ts': '/** One. */\nexport declare const one: number;\n' });
    const [report] = apiReports(root, packages);
    expect(report).toMatchObject({ file: 'packages/sample/api/index.api.md', unexported: [], faults: [] });
    expect(report?.text).toContain('export const one: number;');
  });

  it('apiReports finds names in signatures that are not exported', { timeout: 60_000 }, () => {
    const { root, packages } = checkout({
      'index.d.ts': "export { f } from './f.js';\n",
      'f.d.ts': 'export interface Hidden { readonly a: string }\nexport declare function f(hidden: Hidden): void;\n',
    });
    expect(apiReports(root, packages)[0]?.unexported).toEqual([
      { name: 'Hidden', where: 'packages/sample/dist/f.d.ts:2' },
    ]);
  });
});
