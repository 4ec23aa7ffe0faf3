import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { type CountedText, countTable, unitOf } from './counts.ts';
import { habitsOf } from './habits.ts';
import { sampleOf } from './sample.ts';
import { sentencesOf, type TextKind, textsOfMarkdown, textsOfSource } from './texts.ts';

const KINDS: readonly TextKind[] = ['comment', 'test name', 'message', 'doc'];

const HELP = `Usage: npm run prose -- [options] [package or path ...]
Counts, per package, the texts that carry one of seven habits that make sentences hard to read, as places to look at.
Fails nothing: the counts are an aid for writers. CONTRIBUTING.md explains the habits.
  --list          print each sentence that carries a habit, with its place
  --kind KIND     only this kind of text: ${KINDS.join(', ')}
  --sample N      print N random sentences of the chosen kind instead, for a reader who has not seen the code
  --seed N        seed of the sample (default: 1)
  --help          print this text
`;

const root = fileURLToPath(new URL('../../..', import.meta.url));

async function main(argv: readonly string[]): Promise<number> {
  // A reader that has seen enough (`| head`) closes the pipe.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));
  const { values, positionals } = parseArgs({
    args: [...argv],
    allowPositionals: true,
    options: {
      list: { type: 'boolean', default: false },
      kind: { type: 'string' },
      sample: { type: 'string' },
      seed: { type: 'string', default: '1' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    process.stdout.write(HELP);
    return 0;
  }
  if (values.kind !== undefined && !KINDS.some((kind) => kind === values.kind)) {
    throw new Error(`--kind must be one of ${KINDS.join(', ')}`);
  }
  const numbers = { sample: Number(values.sample ?? 0), seed: Number(values.seed) };
  for (const [name, number] of Object.entries(numbers)) {
    if (!Number.isSafeInteger(number) || number < 0) throw new Error(`--${name} must be a whole number`);
  }
  const texts = trackedTexts(positionals).filter(({ kind }) => values.kind === undefined || kind === values.kind);
  if (numbers.sample > 0) {
    const sentences = texts.flatMap((text) => sentencesOf(text.text).map((sentence) => ({ ...text, sentence })));
    const readable = sentences.filter(({ sentence }) => sentence.split(/\s+/).length >= 4);
    for (const { file, line, sentence } of sampleOf(readable, numbers.sample, numbers.seed)) {
      process.stdout.write(`${file}:${line}: ${sentence}\n`);
    }
  } else if (values.list) {
    for (const { file, line, text } of texts) {
      for (const sentence of sentencesOf(text)) {
        const [habit] = habitsOf(sentence);
        if (habit !== undefined) process.stdout.write(`${file}:${line}: [${habit.name}] ${sentence}\n`);
      }
    }
  } else process.stdout.write(countTable(texts));
  return 0;
}

/** Returns the texts of all files that Git tracks below the given packages or paths (default: all). */
function trackedTexts(wanted: readonly string[]): readonly CountedText[] {
  const listed = execFileSync('git', ['ls-files', '-z'], { cwd: root, encoding: 'utf8', maxBuffer: 64 << 20 });
  const files = listed.split('\0').filter((file) => {
    if (!/\.(ts|mjs|md)$/.test(file) || /\/(generated|api|fixtures)\/|^\.changeset\/|CHANGELOG\.md$/.test(file))
      return false;
    return wanted.length === 0 || wanted.some((name) => file.startsWith(name) || unitOf(file) === name);
  });
  return files.flatMap((file) => {
    const source = readFileSync(join(root, file), 'utf8');
    const texts = file.endsWith('.md') ? textsOfMarkdown(source) : textsOfSource(file, source);
    return texts.map((text) => ({ ...text, file }));
  });
}

process.exitCode = await main(process.argv.slice(2)).catch((err: unknown) => {
  process.stderr.write(`prose: ${err instanceof Error ? err.message : String(err)}\n`);
  return 2;
});
