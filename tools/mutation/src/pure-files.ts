import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const IMPURE = /\b(?:async|await|class|Promise|yield)\b/;
/** What is no code; among texts are the names of modules. */
const COMMENT_OR_TEXT = /\/\*[\s\S]*?\*\/|^\s*\/\/.*$|'(?:[^'\\\n]|\\.)*'/gm;
const DECIDES = /^(?:export )?function|=>/m;

/**
 * The files of a package that hold rules and nothing else: functions from values to values. What waits, holds state or is generated
 * is a shell.
 */
export function pureFiles(packageDirectory: string): readonly string[] {
  const source = join(packageDirectory, 'src');
  return readdirSync(source, { recursive: true, encoding: 'utf8' })
    .filter(
      (file) => file.endsWith('.ts') && !file.includes('generated') && !/(?:^|\/)(?:index|metrics)\.ts$/.test(file),
    )
    .filter((file) => isPure(readFileSync(join(source, file), 'utf8')))
    .map((file) => join('src', file))
    .sort();
}

/** Whether a module has functions, and only such as answer at once. */
export function isPure(code: string): boolean {
  const words = code.replaceAll(COMMENT_OR_TEXT, '');
  return DECIDES.test(words) && !IMPURE.test(words);
}
