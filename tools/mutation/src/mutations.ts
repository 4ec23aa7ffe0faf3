import { childOf, type SyntaxNode } from './syntax.ts';

/** Code that replaces an expression in a mutant. */
export type Replacement = string;

const OPERATORS: Readonly<Record<string, readonly string[]>> = {
  '===': ['!=='],
  '!==': ['==='],
  '==': ['!='],
  '!=': ['=='],
  '<': ['<=', '>='],
  '<=': ['<', '>'],
  '>': ['>=', '<='],
  '>=': ['>', '<'],
  '+': ['-'],
  '-': ['+'],
  '*': ['/'],
  '/': ['*'],
  '%': ['*'],
  '&&': ['||'],
  '||': ['&&'],
};

/** Method names and their replacements. */
const METHODS: ReadonlyMap<string, string> = new Map([
  ['some', 'every'],
  ['every', 'some'],
  ['min', 'max'],
  ['max', 'min'],
  ['startsWith', 'endsWith'],
  ['endsWith', 'startsWith'],
]);

/** Methods whose calls can be omitted, so that the call is replaced by its object. */
const STEPS: ReadonlySet<string> = new Set(['filter', 'toSorted', 'sort', 'toReversed', 'reverse', 'slice', 'trim']);

/**
 * Returns the replacements of a node: another operator, a condition that is always true or false, a neighbouring value,
 * or a part of the expression. Each replacement is a complete expression, in brackets if necessary.
 */
export function replacementsOf(node: SyntaxNode, code: string): readonly Replacement[] {
  const text = (of: SyntaxNode | undefined): string => (of === undefined ? '' : code.slice(of.start, of.end));
  switch (node.type) {
    case 'BinaryExpression':
    case 'LogicalExpression': {
      const [left, right] = [childOf(node, 'left'), childOf(node, 'right')];
      const operator = String(node.operator);
      if (operator === '??') return [`(${text(left)})`, `(${text(right)})`];
      // `+` concatenates texts here, so there is no `-`.
      if (operator === '+' && (isText(left) || isText(right))) return [];
      return (OPERATORS[operator] ?? []).map((other) => `((${text(left)}) ${other} (${text(right)}))`);
    }
    case 'UnaryExpression':
      return node.operator === '!' ? [`(${text(childOf(node, 'argument'))})`] : [];
    case 'ConditionalExpression':
      return [`(${text(childOf(node, 'consequent'))})`, `(${text(childOf(node, 'alternate'))})`];
    case 'Literal':
      return literal(node.value);
    case 'CallExpression':
      return call(node, code);
    default:
      return [];
  }
}

/** Replacements for the condition of an `if` or a loop. */
export const CONDITIONS: readonly Replacement[] = ['true', 'false'];

function literal(value: unknown): readonly Replacement[] {
  if (typeof value === 'boolean') return [String(!value)];
  if (typeof value === 'number') return [String(value + 1)];
  if (typeof value === 'string') return value === '' ? ["'mutated'"] : ["''"];
  return [];
}

function call(node: SyntaxNode, code: string): readonly Replacement[] {
  const callee = childOf(node, 'callee');
  if (callee?.type !== 'MemberExpression' || callee.computed === true) return [];
  const [object, property] = [childOf(callee, 'object'), childOf(callee, 'property')];
  if (object === undefined || property === undefined) return [];
  const name = code.slice(property.start, property.end);
  const other = METHODS.get(name);
  if (other !== undefined) {
    return [`${code.slice(node.start, property.start)}${other}${code.slice(property.end, node.end)}`];
  }
  return STEPS.has(name) ? [`(${code.slice(object.start, object.end)})`] : [];
}

function isText(node: SyntaxNode | undefined): boolean {
  return node?.type === 'TemplateLiteral' || (node?.type === 'Literal' && typeof node.value === 'string');
}
