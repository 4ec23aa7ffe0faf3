import { CONDITIONS, replacementsOf } from './mutations.ts';
import { childOf, childrenOf, parseModule, type SyntaxNode } from './syntax.ts';

/** One way in which a file can be broken. */
export interface Mutant {
  readonly id: number;
  readonly file: string;
  /** From 1. */
  readonly line: number;
  /** That line, without its indent. */
  readonly lineText: string;
  readonly original: string;
  readonly replacement: string;
}

/** A module in which each mutant stands beside what it replaces, to be chosen while the program runs. */
export interface Instrumented {
  readonly code: string;
  readonly mutants: readonly Mutant[];
}

/** Where the chosen mutant is asked for: the set-up of the tests defines it. */
const SWITCH = '__mutants';

/**
 * Puts every mutant of a module into it.
 * @param firstId the id of the first; the others count on
 * @throws Error where the module cannot be read
 */
export function instrument(file: string, code: string, firstId: number): Instrumented {
  const mutants: Mutant[] = [];
  const add = (node: SyntaxNode, replacement: string): number => {
    const id = firstId + mutants.length;
    const original = code.slice(node.start, node.end);
    mutants.push({ id, file, ...lineAt(code, node.start), original, replacement });
    return id;
  };

  const inside = (node: SyntaxNode, inChain: boolean): string => {
    let text = '';
    let at = node.start;
    for (const { property, child } of childrenOf(node)) {
      if (child.start < at || !mayChange(node, property, child)) continue;
      text += code.slice(at, child.start) + render(node, property, child, inChain);
      at = child.end;
    }
    return text + code.slice(at, node.end);
  };

  const render = (parent: SyntaxNode, property: string, node: SyntaxNode, inChain: boolean): string => {
    const chained = node.type === 'ChainExpression' || (inChain && isLink(property));
    const original = inside(node, chained);
    const replacements = isCondition(parent, property)
      ? [...CONDITIONS, ...replacementsOf(node, code)]
      : // A link that is put in brackets ends the chain.
        chained && node.type !== 'ChainExpression'
        ? []
        : replacementsOf(node, code);
    const choices = replacements.map((replacement) => `${SWITCH}.is(${add(node, replacement)}) ? ${replacement} : `);
    if (choices.length > 0) return `(${choices.join('')}${original})`;
    return removable(parent, node) ? removal(original, add(node, 'nothing')) : original;
  };
  return { code: inside(parseModule(file, code), false), mutants };
}

/** A statement that only does something: without it nothing else may show. */
function removable(parent: SyntaxNode, node: SyntaxNode): boolean {
  if (parent.type !== 'ExpressionStatement' || node.type === 'Literal') return false;
  // `super(...)` and what is awaited or thrown away by `void` would break all else.
  return !(node.type === 'CallExpression' && childOf(node, 'callee')?.type === 'Super');
}

function removal(original: string, id: number): string {
  return `(${SWITCH}.is(${id}) ? undefined : (${original}))`;
}

function isCondition(parent: SyntaxNode, property: string): boolean {
  return property === 'test' && ['IfStatement', 'WhileStatement', 'ForStatement'].includes(parent.type);
}

/** Whether the node is the part of an optional chain on which the rest hangs. */
function isLink(property: string): boolean {
  return property === 'expression' || property === 'object' || property === 'callee';
}

const AS_IT_IS: ReadonlySet<string> = new Set([
  'ImportDeclaration',
  'ExportAllDeclaration',
  'ImportExpression',
  'TaggedTemplateExpression',
  'TemplateElement',
]);

/** Types, names, directives, keys and what is assigned to stay as they are; so do the texts of errors and of logs. */
function mayChange(parent: SyntaxNode, property: string, node: SyntaxNode): boolean {
  if (AS_IT_IS.has(node.type) || AS_IT_IS.has(parent.type)) return false;
  if (node.type.startsWith('TS'))
    return ['TSAsExpression', 'TSNonNullExpression', 'TSSatisfiesExpression'].includes(node.type);
  if (parent.type.startsWith('TS')) return property === 'expression';
  if (property === 'key' || property === 'label') return parent.computed === true;
  if (property === 'property') return parent.computed === true;
  if (parent.type === 'ExpressionStatement' && typeof parent.directive === 'string') return false;
  if (property === 'source') return false;
  if (['AssignmentExpression', 'ForOfStatement', 'ForInStatement'].includes(parent.type)) return property !== 'left';
  if (parent.type === 'UpdateExpression' || parent.type === 'RestElement') return false;
  if (parent.type === 'UnaryExpression') return parent.operator !== 'delete';
  return !isMessage(parent, node);
}

/** What is said to people is not what a rule decides: changed words are looked at by tests of words only. */
function isMessage(parent: SyntaxNode, node: SyntaxNode): boolean {
  if (parent.type === 'NewExpression') {
    const callee = childOf(parent, 'callee');
    return node.type === 'Literal' && String(callee?.name ?? '').endsWith('Error');
  }
  return false;
}

function lineAt(code: string, position: number): Pick<Mutant, 'line' | 'lineText'> {
  const before = code.slice(0, position).split('\n');
  const after = code.slice(position).split('\n', 1);
  return { line: before.length, lineText: `${before.at(-1)}${after}`.trim() };
}
