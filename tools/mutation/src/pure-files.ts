import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const IMPURE = /\b(?:async|await|class|Promise|yield)\b/;
/** Comments and string literals. String literals include module names. */
const COMMENT_OR_TEXT = /\/\*[\s\S]*?\*\/|^\s*\/\/.*$|'(?:[^'\\\n]|\\.)*'/gm;
const DECIDES = /^(?:export )?function|=>/m;

/**
 * Returns the files of a package that contain only rules, which are functions from values to values. Files with
 * asynchronous code, state or generated code are excluded.
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

/** Returns whether a module contains functions, and only synchronous ones without state. */
export function isPure(code: string): boolean {
  const words = code.replaceAll(COMMENT_OR_TEXT, '');
  return DECIDES.test(words) && !IMPURE.test(words);
}
