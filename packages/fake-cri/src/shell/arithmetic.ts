import { ShellSyntaxError } from './syntax.ts';

const TOKEN = /\s*(?:(\d+)|([A-Za-z_]\w*)|\$(?:\{(\w+)\}|(\w+))|([<>!=]=|[-+*/%()<>]))/y;

/**
 * Evaluates the text between `$((` and `))`: integers, variables, `+ - * / %`, comparisons and parentheses.
 * @throws ShellSyntaxError for anything else, and for a division by zero
 */
export function evaluateArithmetic(text: string, variable: (name: string) => string): number {
  const tokens = lex(text, variable);
  let at = 0;
  const take = (...operators: string[]): string | undefined => {
    const token = tokens[at];
    if (typeof token !== 'string' || !operators.includes(token)) return undefined;
    at++;
    return token;
  };
  const primary = (): number => {
    if (take('-')) return -primary();
    if (take('+')) return primary();
    if (take('(')) {
      const value = comparison();
      if (!take(')')) throw new ShellSyntaxError(`arithmetic: expected ")" in "${text}"`);
      return value;
    }
    const token = tokens[at++];
    if (typeof token !== 'number') throw new ShellSyntaxError(`arithmetic: expected a number in "${text}"`);
    return token;
  };
  const product = (): number => {
    let left = primary();
    for (let op = take('*', '/', '%'); op !== undefined; op = take('*', '/', '%')) {
      const right = primary();
      if (op !== '*' && right === 0) throw new ShellSyntaxError('arithmetic: division by zero');
      left = op === '*' ? left * right : op === '/' ? Math.trunc(left / right) : left % right;
    }
    return left;
  };
  const sum = (): number => {
    let left = product();
    for (let op = take('+', '-'); op !== undefined; op = take('+', '-')) {
      left = op === '+' ? left + product() : left - product();
    }
    return left;
  };
  const comparison = (): number => {
    const left = sum();
    const op = take('<=', '>=', '==', '!=', '<', '>');
    if (op === undefined) return left;
    const right = sum();
    const holds = {
      '<': left < right,
      '>': left > right,
      '<=': left <= right,
      '>=': left >= right,
      '==': left === right,
    };
    return Number(op === '!=' ? left !== right : holds[op as keyof typeof holds]);
  };
  const value = comparison();
  if (at < tokens.length) throw new ShellSyntaxError(`arithmetic: unexpected "${tokens[at]}" in "${text}"`);
  // Adding zero turns -0 into 0.
  return value + 0;
}

function lex(text: string, variable: (name: string) => string): (string | number)[] {
  const tokens: (string | number)[] = [];
  const trimmed = text.trimEnd();
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < trimmed.length) {
    const from = TOKEN.lastIndex;
    const match = TOKEN.exec(trimmed);
    if (match === null) throw new ShellSyntaxError(`arithmetic: unexpected "${trimmed.slice(from).trim()}"`);
    const [, digits, bare, braced, dollar, operator] = match;
    const name = bare ?? braced ?? dollar;
    if (digits !== undefined) tokens.push(Number(digits));
    else if (name !== undefined) tokens.push(Number(variable(name)) || 0);
    else if (operator !== undefined) tokens.push(operator);
  }
  return tokens;
}
