import { type Token, tokenize } from './lexer.ts';
import { type Command, type Redirect, ShellSyntaxError, type Word } from './syntax.ts';

const CLOSERS = new Set(['then', 'elif', 'else', 'fi', 'do', 'done', '}']);
const ASSIGNMENT = /^([A-Za-z_][A-Za-z0-9_]*)=/;

/**
 * Parses the subset of POSIX shell that fake containers support: `;` `&` `&&` `||` `!`, quotes, parameters, `$(...)`,
 * `$((...))`, `while` `until` `for` `if` `{ }` `( )` and redirection of output.
 * @throws ShellSyntaxError for any other syntax, with a message that names it
 */
export function parseShell(text: string): Command {
  const parser = new Parser(tokenize(text, parseShell));
  const command = parser.list();
  parser.expectEnd();
  return command;
}

class Parser {
  readonly #tokens: readonly Token[];
  #at = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  expectEnd(): void {
    const token = this.#tokens[this.#at];
    if (token !== undefined) throw new ShellSyntaxError(`unexpected "${describe(token)}"`);
  }

  list(): Command {
    const items: { command: Command; background: boolean }[] = [];
    this.#skipNewlines();
    while (!this.#atListEnd()) {
      const command = this.#andOr();
      const separator = this.#operator(';', '&', '\n');
      items.push({ command, background: separator === '&' });
      if (separator === undefined) break;
      this.#skipNewlines();
    }
    return { kind: 'list', items };
  }

  #andOr(): Command {
    let left = this.#pipeline();
    for (let operator = this.#operator('&&', '||'); operator !== undefined; operator = this.#operator('&&', '||')) {
      this.#skipNewlines();
      left = { kind: operator === '&&' ? 'and' : 'or', left, right: this.#pipeline() };
    }
    return left;
  }

  #pipeline(): Command {
    if (this.#keyword('!')) return { kind: 'not', command: this.#pipeline() };
    const command = this.#command();
    if (this.#peekOperator('|')) throw new ShellSyntaxError('pipelines are not supported');
    return command;
  }

  #command(): Command {
    if (this.#keyword('while')) return this.#loop(false);
    if (this.#keyword('until')) return this.#loop(true);
    if (this.#keyword('for')) return this.#for();
    if (this.#keyword('if')) return this.#if();
    for (const word of ['case', 'function', 'select']) {
      if (this.#keyword(word)) throw new ShellSyntaxError(`"${word}" is not supported`);
    }
    if (this.#keyword('{')) {
      const body = this.list();
      this.#expectKeyword('}');
      return { kind: 'group', subshell: false, body, redirects: this.#redirects() };
    }
    if (this.#operator('(') !== undefined) {
      const body = this.list();
      if (this.#operator(')') === undefined) throw new ShellSyntaxError('expected ")"');
      return { kind: 'group', subshell: true, body, redirects: this.#redirects() };
    }
    return this.#simple();
  }

  #loop(until: boolean): Command {
    const condition = this.list();
    return { kind: 'loop', until, condition, body: this.#doGroup() };
  }

  #doGroup(): Command {
    this.#expectKeyword('do');
    const body = this.list();
    this.#expectKeyword('done');
    return body;
  }

  #for(): Command {
    const name = this.#word()?.raw;
    if (name === undefined || !/^[A-Za-z_]\w*$/.test(name))
      throw new ShellSyntaxError('for: name must be a variable name');
    this.#expectKeyword('in');
    const words: Word[] = [];
    for (let token = this.#word(); token !== undefined; token = this.#word()) words.push(token.word);
    this.#operator(';', '\n');
    this.#skipNewlines();
    return { kind: 'for', name, words, body: this.#doGroup() };
  }

  #if(): Command {
    const branches: { condition: Command; body: Command }[] = [];
    do {
      const condition = this.list();
      this.#expectKeyword('then');
      branches.push({ condition, body: this.list() });
    } while (this.#keyword('elif'));
    const otherwise = this.#keyword('else') ? this.list() : undefined;
    this.#expectKeyword('fi');
    return otherwise === undefined ? { kind: 'if', branches } : { kind: 'if', branches, otherwise };
  }

  #simple(): Command {
    const assignments: { name: string; value: Word }[] = [];
    const words: Word[] = [];
    const redirects: Redirect[] = [];
    for (;;) {
      const found = this.#redirects();
      redirects.push(...found);
      const token = this.#word();
      if (token === undefined) {
        if (found.length === 0) break;
        continue;
      }
      const assigned = words.length === 0 ? ASSIGNMENT.exec(token.raw)?.[1] : undefined;
      if (assigned === undefined) words.push(token.word);
      else assignments.push({ name: assigned, value: withoutPrefix(token.word, assigned.length + 1) });
    }
    if (words.length === 0 && assignments.length === 0 && redirects.length === 0) {
      const token = this.#tokens[this.#at];
      throw new ShellSyntaxError(token === undefined ? 'unexpected end' : `unexpected "${describe(token)}"`);
    }
    return { kind: 'simple', assignments, words, redirects };
  }

  #redirects(): Redirect[] {
    const redirects: Redirect[] = [];
    for (;;) {
      if (this.#peekOperator('<') || this.#peekOperator('<<')) {
        throw new ShellSyntaxError('redirection of input is not supported');
      }
      const descriptor = this.#operator('1', '2');
      const operator = this.#operator('>', '>>', '>&');
      if (operator === undefined) return redirects;
      const from = descriptor === '2' ? 'stderr' : 'stdout';
      const target = this.#word();
      if (target === undefined) throw new ShellSyntaxError(`expected a target after "${operator}"`);
      if (operator !== '>&') {
        redirects.push({ from, to: { kind: 'file', path: target.word, append: operator === '>>' } });
      } else if (target.raw === '1' || target.raw === '2') {
        redirects.push({ from, to: { kind: 'stream', stream: target.raw === '1' ? 'stdout' : 'stderr' } });
      } else throw new ShellSyntaxError(`bad descriptor "${target.raw}"`);
    }
  }

  #word(): Extract<Token, { kind: 'word' }> | undefined {
    const token = this.#tokens[this.#at];
    if (token?.kind !== 'word') return undefined;
    this.#at++;
    return token;
  }

  #keyword(text: string): boolean {
    const token = this.#tokens[this.#at];
    if (token?.kind !== 'word' || token.raw !== text) return false;
    this.#at++;
    return true;
  }

  #expectKeyword(text: string): void {
    if (!this.#keyword(text)) throw new ShellSyntaxError(`expected "${text}"`);
  }

  #peekOperator(text: string): boolean {
    const token = this.#tokens[this.#at];
    return token?.kind === 'operator' && token.text === text;
  }

  #operator(...texts: string[]): string | undefined {
    const found = texts.find((text) => this.#peekOperator(text));
    if (found !== undefined) this.#at++;
    return found;
  }

  #skipNewlines(): void {
    while (this.#operator('\n') !== undefined);
  }

  #atListEnd(): boolean {
    const token = this.#tokens[this.#at];
    if (token === undefined) return true;
    return token.kind === 'operator' ? token.text === ')' : CLOSERS.has(token.raw);
  }
}

function describe(token: Token): string {
  if (token.kind === 'word') return token.raw;
  return token.text === '\n' ? 'newline' : token.text;
}

function withoutPrefix(word: Word, length: number): Word {
  const [first, ...rest] = word.parts;
  if (first?.kind !== 'text') return word;
  const text = first.text.slice(length);
  return { parts: text === '' ? rest : [{ kind: 'text', text }, ...rest], quoted: word.quoted };
}
