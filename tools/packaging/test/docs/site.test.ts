import fs from 'node:fs';
import path from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { buildSite, withAbsoluteLinks } from '../../src/docs/site.ts';
import { sampleCheckout } from '../checkout.ts';

const directories: string[] = [];
afterEach(() => {
  for (const directory of directories.splice(0)) fs.rmSync(directory, { recursive: true, force: true });
});

const tsconfig = {
  compilerOptions: { module: 'nodenext', target: 'es2024', strict: true },
  include: ['../../packages/*/src'],
};
function checkout(source: string) {
  const made = sampleCheckout({
    'README.md': '# All\n',
    'packages/sample/README.md': '# Sample\n\n[the whole](../../README.md)\n',
    'packages/sample/src/index.ts': source,
    'tools/packaging/tsconfig.docs.json': JSON.stringify(tsconfig),
  });
  directories.push(made.root);
  return { ...made, output: path.join(made.root, 'site') };
}

describe('buildSite', () => {
  it("the API site has a page per import specifier that begins with the package's README", {
    timeout: 60_000,
  }, async () => {
    const { root, packages, output } = checkout('/** One. */\nexport const one: number = 1;\n');
    expect(await buildSite(root, packages, output)).toEqual({ entries: 1, faults: 0 });
    const page = fs.readFileSync(path.join(output, 'modules/_node-agent_sample.html'), 'utf8');
    expect(page).toContain('https://github.com/node-agent/node-agent/blob/main/README.md');
    expect(fs.existsSync(path.join(output, 'variables/_node-agent_sample.one.html'))).toBe(true);
  });

  it('buildSite counts broken links and types that are not exported', { timeout: 60_000 }, async () => {
    const { root, packages, output } = checkout(
      'interface Hidden { readonly a: string }\n/** As {@link nothing}. */\nexport function f(hidden: Hidden): void { void hidden; }\n',
    );
    expect(await buildSite(root, packages, output)).toEqual({ entries: 1, faults: 2 });
  });
});

describe('withAbsoluteLinks', () => {
  const home = 'https://github.com/node-agent/node-agent/blob/main';
  it.each([
    ['[a](../../docs/configuration.md)', `[a](${home}/docs/configuration.md)`],
    ['[a](test/a.ts)', `[a](${home}/packages/sample/test/a.ts)`],
    ['[a](https://kubernetes.io)', '[a](https://kubernetes.io)'],
    ['[a](#ports)', '[a](#ports)'],
  ])('withAbsoluteLinks turns %s into %s', (text, wanted) => {
    expect(withAbsoluteLinks(text, 'packages/sample')).toBe(wanted);
  });
});
