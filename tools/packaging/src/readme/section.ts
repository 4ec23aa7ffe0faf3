import { OLDEST_NODE } from '@node-agent/async/node-version';
import type { Manifest } from '../workspace.ts';
import type { Bag, Constructors, Given } from './constructors.ts';

const BEGIN = '<!-- Written by `npm run api` from the declarations. -->';
const END = '<!-- End of the generated section. -->';
const NONE: Constructors = { bags: [], ports: [] };
/** Common components that need no explanation. */
const USUAL = ['clock', 'random', 'logger', 'metrics'];

/**
 * Returns a README with its generated section replaced by this text, or with the text appended if the README has no
 * generated section.
 */
export function withSection(readme: string, section: string): string {
  const marked = `${BEGIN}\n\n${section.trim()}\n\n${END}\n`;
  const from = readme.indexOf(BEGIN);
  if (from === -1) return `${readme.trimEnd()}\n\n${marked}`;
  const end = readme.indexOf(END, from);
  if (end === -1) throw new Error(`README.md: ${BEGIN} without ${END}`);
  return `${readme.slice(0, from)}${marked}${readme.slice(end + END.length).replace(/^\n/, '')}`;
}

/** Returns the generated section of a package's README: how to install the package, and what its classes need. */
export function sectionOf(
  manifest: Manifest,
  shortName: string,
  { bags, ports }: Constructors = NONE,
  packed: readonly string[] = [shortName],
): string {
  return [installing(manifest, packed), ...madeWith(bags), ...portsOf(ports)].join('\n\n');
}

/**
 * Returns the packages to pack for the program in a README: the package, and the packages of this repository that the
 * README's `npm install` line names.
 */
export function packedFor(readme: string, shortName: string): readonly string[] {
  const line = /^\$ npm install .*$/m.exec(readme)?.[0] ?? '';
  const named = [...line.matchAll(/@node-agent\/([\w-]+)/g)].map(([, name = '']) => name);
  return [...new Set([shortName, ...named])];
}

function installing({ name, version, exports = {} }: Manifest, packed: readonly string[]): string {
  const what =
    packed.length === 1
      ? 'the package and its dependencies'
      : 'the package, the other packages of the program above, and their dependencies';
  const how =
    version === '0.0.0'
      ? `Not on npm yet. In a checkout, \`npm run pack -- ${packed.join(' ')}\` packs ${what} within this repository, and\nprints the line that installs the tarballs.`
      : `\`npm install ${name}\`.`;
  const types =
    exports['.'] === undefined
      ? ''
      : ', with types for TypeScript 5.9 or newer (`module: nodenext`, `@types/node`).\nTypeScript programs need no build step: `node program.ts`';
  return `## Installing\n\n${how} Requires Node.js ${OLDEST_NODE} or newer. ES modules${types}.`;
}

function madeWith(bags: readonly Bag[]): readonly string[] {
  if (bags.length === 0) return [];
  const tables = bags.map(({ name, properties }) => {
    const usual = properties.filter((each) => USUAL.includes(each.name) && each.doc === '');
    const rows = [
      ...properties.filter((each) => !usual.includes(each)).map(row),
      ...(usual.length === 0 ? [] : [`| ${usual.map(nameOf).join(', ')} | | |`]),
    ];
    return `| \`${name}\` | type | |\n| --- | --- | --- |\n${rows.join('\n')}`;
  });
  return ['## Constructor parameters', ...tables];
}

function row(given: Given): string {
  const words = [given.type === '' ? '' : `\`${given.type}\``, unitOf(given)].filter(Boolean).join(', ');
  return `| ${nameOf(given)} | ${cell(words)} | ${cell(given.doc)} |`;
}

/** Returns the unit, which is the suffix of the property's name. */
function unitOf({ name, type }: Given): string {
  if (type !== 'number') return '';
  if (name.endsWith('Ms')) return 'milliseconds';
  if (name.endsWith('Seconds')) return 'seconds';
  return name.endsWith('Bytes') ? 'bytes' : '';
}

function nameOf({ name, optional }: Given): string {
  return `\`${name}${optional ? '?' : ''}\``;
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|');
}

function portsOf(ports: readonly string[]): readonly string[] {
  if (ports.length === 0) return [];
  // Declaration files are indented by four spaces, the README by two.
  const text = ports.map((port) => port.replaceAll(/^(?: {4})+/gm, (spaces) => ' '.repeat(spaces.length / 2)));
  return [`\`\`\`ts\n${text.join('\n\n')}\n\`\`\``];
}
