import { parseSync } from 'oxc-parser';

/** A node of a program's syntax tree, as far as it is looked at here (ESTree, with TypeScript's own nodes). */
export interface SyntaxNode {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [property: string]: unknown;
}

function isNode(value: unknown): value is SyntaxNode {
  return typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string';
}

/** The node that a property holds; `undefined` where it holds none. */
export function childOf(node: SyntaxNode, property: string): SyntaxNode | undefined {
  const value = node[property];
  return isNode(value) ? value : undefined;
}

/** All nodes right below a node, with the property that holds each, in the order of the text. */
export function childrenOf(node: SyntaxNode): readonly { readonly property: string; readonly child: SyntaxNode }[] {
  const children = Object.entries(node).flatMap(([property, value]) =>
    (Array.isArray(value) ? value : [value]).filter(isNode).map((child) => ({ property, child })),
  );
  return children.sort((a, b) => a.child.start - b.child.start);
}

/** The tree of a TypeScript module; positions count UTF-16 units. @throws Error where it is none */
export function parseModule(file: string, code: string): SyntaxNode {
  const { program, errors } = parseSync(file, code, { lang: 'ts', sourceType: 'module' });
  const [error] = errors;
  if (error !== undefined) throw new Error(`${file}: ${error.message}`);
  if (!isNode(program)) throw new Error(`${file}: the parser gave no program`);
  return program;
}
