import { describe, expect, it } from 'vitest';
import { packedFor, sectionOf, withSection } from '../../src/readme/section.ts';

const manifest = { name: '@node-agent/pleg', version: '0.0.0', exports: { '.': { types: './dist/index.d.ts' } } };
const given = { optional: false, type: 'string', doc: '' };

describe('withSection', () => {
  it('withSection appends a section and changes nothing else', () => {
    expect(withSection('# pleg\n\nText.\n', '## Installing')).toMatch(
      /^# pleg\n\nText\.\n\n<!-- .+ -->\n\n## Installing\n\n<!-- .+ -->\n$/,
    );
  });

  it('withSection replaces an existing section, and changes nothing when repeated', () => {
    const once = `${withSection('# pleg\n', '## One\n\ntext')}\n## Metrics\n`;
    const twice = withSection(once, '## Two');
    expect(twice).toContain('## Two');
    expect(twice).not.toContain('## One');
    expect(twice).toMatch(/^# pleg\n/);
    expect(twice).toMatch(/-->\n\n## Metrics\n$/);
    expect(withSection(twice, '## Two')).toBe(twice);
  });

  it('withSection fails if the end of a section is missing', () => {
    const readme = withSection('# pleg\n', '## One').replace(/<!-- End of.+\n/, '');
    expect(() => withSection(readme, '## Two')).toThrow('without');
  });
});

describe('sectionOf', () => {
  it('the install section says that an unversioned package is not on npm, and how to install a versioned one', () => {
    expect(sectionOf(manifest, 'pleg')).toMatch(/Not on npm yet.+npm run pack -- pleg/);
    expect(sectionOf({ ...manifest, version: '0.1.0' }, 'pleg')).toContain(
      '`npm install @node-agent/pleg`. Requires Node.js ',
    );
  });

  it("the install section says how to install the other packages that the README's program uses", () => {
    const readme = '# status\n\n```console\n$ npm install @node-agent/status @node-agent/kube-client\n```\n';
    expect(packedFor(readme, 'status')).toEqual(['status', 'kube-client']);
    expect(sectionOf(manifest, 'status', undefined, packedFor(readme, 'status'))).toMatch(
      /`npm run pack -- status kube-client` packs the package, the other packages of the program above/,
    );
    expect(packedFor('# kubelet\n', 'kubelet')).toEqual(['kubelet']);
    expect(packedFor('```console\n$ npm install -g @node-agent/kubelet typescript\n```', 'kubelet')).toEqual([
      'kubelet',
    ]);
  });

  it('the install section mentions types only for packages that can be imported', () => {
    expect(sectionOf(manifest, 'pleg')).toContain('TypeScript 5.9');
    expect(sectionOf({ ...manifest, exports: { './package.json': './package.json' } }, 'kubelet')).not.toContain(
      'TypeScript',
    );
  });

  it('the options table has a row with its unit for each property, and one row for all common components', () => {
    const properties = [
      { ...given, name: 'clock', type: 'Clock' },
      { ...given, name: 'periodMs', type: 'number', optional: true, doc: 'How often. Default: 1,000.' },
      { ...given, name: 'logger', type: 'Logger' },
      { ...given, name: 'mode', type: "'a' | 'b'" },
    ];
    const section = sectionOf(manifest, 'pleg', { bags: [{ name: 'PlegOptions', properties }], ports: [] });
    const rows = section.split('\n').filter((line) => line.startsWith('| `'));
    expect(rows).toEqual([
      '| `PlegOptions` | type | |',
      '| `periodMs?` | `number`, milliseconds | How often. Default: 1,000. |',
      "| `mode` | `'a' \\| 'b'` |  |",
      '| `clock`, `logger` | | |',
    ]);
  });

  it('the options table gives a common component its own row if it has a doc comment', () => {
    const properties = [{ ...given, name: 'clock', type: 'Clock', doc: "The runtime's own." }];
    const section = sectionOf(manifest, 'pleg', { bags: [{ name: 'PlegComponents', properties }], ports: [] });
    expect(section).toContain("| `clock` | `Clock` | The runtime's own. |");
  });
});
