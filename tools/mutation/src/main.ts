import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { pureFiles } from './pure-files.ts';
import { runPackage } from './run-package.ts';
import { type Explained, type PackageScore, scoreOf, scorePage } from './score.ts';

const HELP = `Usage: npm run mutation -- [options] [package ...]
Changes each pure rule of the packages (default: all) at one place after another, and reports changes that no test detects.
  --file TEXT     only files whose path contains the text
  --without EXPR  skip test files whose path matches; changes that only these files detect count as undetected
  --json          print undetected changes as entries of explained.json without reasons
  --write         write the scores to docs/reports/mutation.md
  --help
`;

const root = fileURLToPath(new URL('../../..', import.meta.url));
/** Packages that are not measured: test kits make no decisions on which users depend. */
const WITHOUT_RULES = new Set(['fake-cri', 'fake-apiserver', 'simulation']);

async function main(argv: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...argv],
    allowPositionals: true,
    options: {
      file: { type: 'string', default: '' },
      without: { type: 'string', default: '' },
      json: { type: 'boolean', default: false },
      write: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    process.stdout.write(HELP);
    return 0;
  }
  const packages = positionals.length > 0 ? positionals : allPackages();
  const unknown = packages.filter((name) => !existsSync(join(root, 'packages', name)));
  if (unknown.length > 0) throw new Error(`unknown package: ${unknown.join(', ')}`);
  const explained = JSON.parse(
    readFileSync(join(root, 'tools/mutation/explained.json'), 'utf8'),
  ) as readonly Explained[];
  const scores: PackageScore[] = [];
  for (const name of packages) {
    const directory = join(root, 'packages', name);
    const files = pureFiles(directory).filter((file) => file.includes(values.file));
    if (files.length === 0) continue;
    const outcomes = await runPackage({
      directory,
      files,
      without: values.without,
      say: (text) => process.stderr.write(`${name}: ${text}\n`),
    });
    const measured = new Set(files.map((file) => `packages/${name}/${file}`));
    const ofPackage = explained.filter(({ file }) => measured.has(file));
    const inRepo = outcomes.map(({ mutant, fate }) => ({
      mutant: { ...mutant, file: `packages/${name}/${mutant.file}` },
      fate,
    }));
    const score = scoreOf(name, inRepo, ofPackage);
    scores.push(score);
    for (const { mutant, fate } of score.left) {
      const { file, line, lineText, original, replacement } = mutant;
      const text = `${file}:${line} ${fate}: ${oneLine(original)} -> ${oneLine(replacement)}`;
      const entry = { file, lineText, original, replacement, why: '' };
      process.stdout.write(`${values.json ? JSON.stringify(entry, undefined, 2) : text}\n`);
    }
    for (const { file, lineText } of score.idle) {
      process.stdout.write(`${file}: needless explanation: ${oneLine(lineText)}\n`);
    }
  }
  process.stdout.write(`\n${scorePage(scores)}`);
  if (values.write) {
    const file = join(root, 'docs/reports/mutation.md');
    writeFileSync(file, scorePage(scores, existsSync(file) ? readFileSync(file, 'utf8') : ''));
  }
  return scores.some(({ left }) => left.length > 0) ? 1 : 0;
}

function allPackages(): readonly string[] {
  return readdirSync(join(root, 'packages')).filter((name) => !WITHOUT_RULES.has(name));
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').slice(0, 120);
}

process.exitCode = await main(process.argv.slice(2));
