import { describe, expect, it } from 'vitest';
import { packedFor, sectionOf, withSection } from '../../src/readme/section.ts';

const manifest = { name: '@node-agent/pleg', version: '0.0.0', exports: { '.': { types: './dist/index.d.ts' } } };
const given = { optional: false, type: 'string', doc: '' };

describe('withSection', () => {
  it('adds a section at the end, and changes nothing else', () => {
    expect(withSection('# pleg\n\nText.\n', '## Installing')).toMatch(
      /^# pleg\n\nText\.\n\n<!-- .+ -->\n\n## Installing\n\n<!-- .+ -->\n$/,
    );
  });

  it('puts another in its place, and is done when done', () => {
    const once = `${withSection('# pleg\n', '## One\n\ntext')}\n## Metrics\n`;
    const twice = withSection(once, '## Two');
    expect(twice).toContain('## Two');
    expect(twice).not.toContain('## One');
    expect(twice).toMatch(/^# pleg\n/);
    expect(twice).toMatch(/-->\n\n## Metrics\n$/);
    expect(withSection(twice, '## Two')).toBe(twice);
  });

  it('does not guess where a section ends', () => {
    const readme = withSection('# pleg\n', '## One').replace(/<!-- The end.+\n/, '');
    expect(() => withSection(readme, '## Two')).toThrow('without');
  });
});

describe('sectionOf', () => {
  it('says that a package is not on npm before it has a version, and how to install it when it has', () => {
    expect(sectionOf(manifest, 'pleg')).toMatch(/Not on npm yet.+npm run pack -- pleg/);
    expect(sectionOf({ ...manifest, version: '0.1.0' }, 'pleg')).toContain('`npm install @node-agent/pleg`');
  });

  it('says how to install what the program of the README takes beside it', () => {
    const readme = '# status\n\n```console\n$ npm install @node-agent/status @node-agent/kube-client\n```\n';
    expect(packedFor(readme, 'status')).toEqual(['status', 'kube-client']);
    expect(sectionOf(manifest, 'status', undefined, packedFor(readme, 'status'))).toMatch(
      /`npm run pack -- status kube-client` packs it and what else its program takes, with what they need/,
    );
    expect(packedFor('# kubelet\n', 'kubelet')).toEqual(['kubelet']);
    expect(packedFor('```console\n$ npm install -g @node-agent/kubelet typescript\n```', 'kubelet')).toEqual([
      'kubelet',
    ]);
  });

  it('promises types only where there is something to import', () => {
    expect(sectionOf(manifest, 'pleg')).toContain('TypeScript 5.9');
    expect(sectionOf({ ...manifest, exports: { './package.json': './package.json' } }, 'kubelet')).not.toContain(
      'TypeScript',
    );
  });

  it('has a row for each thing that a constructor is given, with its unit, and one for all the usual ones', () => {
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

  it('shows a usual one with the others where something is said of it', () => {
    const properties = [{ ...given, name: 'clock', type: 'Clock', doc: "The runtime's own." }];
    const section = sectionOf(manifest, 'pleg', { bags: [{ name: 'PlegComponents', properties }], ports: [] });
    expect(section).toContain("| `clock` | `Clock` | The runtime's own. |");
  });
});
