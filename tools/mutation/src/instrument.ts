import { CONDITIONS, replacementsOf } from './mutations.ts';
import { childOf, childrenOf, parseModule, type SyntaxNode } from './syntax.ts';

/** Single change to a file. */
export interface Mutant {
  readonly id: number;
  readonly file: string;
  /** Line number, starting at 1. */
  readonly line: number;
  /** Text of the line without its indentation. */
  readonly lineText: string;
  readonly original: string;
  readonly replacement: string;
}

/** Module that contains every mutant next to the original code. A mutant is selected at run time. */
export interface Instrumented {
  readonly code: string;
  readonly mutants: readonly Mutant[];
}

/** Global variable that selects the mutant; the test set-up defines it. */
const SWITCH = '__mutants';

/**
 * Inserts all mutants of a module into its code.
 * @param firstId ID of the first mutant; the others are numbered consecutively
 * @throws Error if the module cannot be parsed
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
      : // Brackets around a part of an optional chain would end the chain.
        chained && node.type !== 'ChainExpression'
        ? []
        : replacementsOf(node, code);
    const choices = replacements.map((replacement) => `${SWITCH}.is(${add(node, replacement)}) ? ${replacement} : `);
    if (choices.length > 0) return `(${choices.join('')}${original})`;
    return removable(parent, node) ? removal(original, add(node, 'nothing')) : original;
  };
  return { code: inside(parseModule(file, code), false), mutants };
}

/** Returns whether an expression statement may be removed. An expression statement only has a side effect. */
function removable(parent: SyntaxNode, node: SyntaxNode): boolean {
  if (parent.type !== 'ExpressionStatement' || node.type === 'Literal') return false;
  // A removed `super(...)` would break the whole class.
  return !(node.type === 'CallExpression' && childOf(node, 'callee')?.type === 'Super');
}

function removal(original: string, id: number): string {
  return `(${SWITCH}.is(${id}) ? undefined : (${original}))`;
}

function isCondition(parent: SyntaxNode, property: string): boolean {
  return property === 'test' && ['IfStatement', 'WhileStatement', 'ForStatement'].includes(parent.type);
}

/** Returns whether the property leads to the inner part of an optional chain. */
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

/**
 * Returns whether a node may be mutated. Types, names, directives, keys, assignment targets and error messages stay
 * unchanged.
 */
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

/**
 * Returns whether a node is an error message. Error messages are not part of a rule's decision, and only tests of
 * messages would detect a change.
 */
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
