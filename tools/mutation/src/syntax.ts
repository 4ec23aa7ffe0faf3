import { parseSync } from 'oxc-parser';

/** Node of a syntax tree (ESTree with TypeScript nodes); only the fields that are used here. */
export interface SyntaxNode {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [property: string]: unknown;
}

function isNode(value: unknown): value is SyntaxNode {
  return typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string';
}

/** Returns the node in a property; `undefined` if the property contains no node. */
export function childOf(node: SyntaxNode, property: string): SyntaxNode | undefined {
  const value = node[property];
  return isNode(value) ? value : undefined;
}

/** Returns the direct children of a node with their properties, in text order. */
export function childrenOf(node: SyntaxNode): readonly { readonly property: string; readonly child: SyntaxNode }[] {
  const children = Object.entries(node).flatMap(([property, value]) =>
    (Array.isArray(value) ? value : [value]).filter(isNode).map((child) => ({ property, child })),
  );
  return children.sort((a, b) => a.child.start - b.child.start);
}

/** Parses a TypeScript module. Positions are UTF-16 code units. @throws Error if the module is invalid */
export function parseModule(file: string, code: string): SyntaxNode {
  const { program, errors } = parseSync(file, code, { lang: 'ts', sourceType: 'module' });
  const [error] = errors;
  if (error !== undefined) throw new Error(`${file}: ${error.message}`);
  if (!isNode(program)) throw new Error(`parse ${file}: parser returned no program`);
  return program;
}
