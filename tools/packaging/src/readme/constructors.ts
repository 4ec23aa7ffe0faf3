import path from 'node:path';
import ts from 'typescript';
import type { WorkspacePackage } from '../workspace.ts';

/** Property of a constructor's parameter object. */
export interface Given {
  readonly name: string;
  readonly optional: boolean;
  readonly type: string;
  /** Text of the property's doc comment, in one line. */
  readonly doc: string;
}

/** Interface of a parameter object (components or options) of a constructor or factory function. */
export interface Bag {
  readonly name: string;
  readonly properties: readonly Given[];
}

/** Parameter objects and ports of a package's classes and factory functions. */
export interface Constructors {
  readonly bags: readonly Bag[];
  /**
   * Declarations of the package's interfaces that components must implement, and of the package's types that these
   * interfaces use.
   */
  readonly ports: readonly string[];
}

/**
 * Reads the parameter objects and ports of each package from its declarations. The packages must be built. @returns the
 * result by directory
 */
export function readConstructors(
  root: string,
  packages: readonly WorkspacePackage[],
): ReadonlyMap<string, Constructors> {
  const roots = new Map(packages.map(({ directory }) => [directory, path.join(root, directory, 'dist/index.d.ts')]));
  const program = ts.createProgram([...roots.values()].filter(ts.sys.fileExists), {
    target: ts.ScriptTarget.ES2024,
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    types: ['node'],
    strict: true,
    skipLibCheck: true,
  });
  const checker = program.getTypeChecker();
  const all = [...roots].flatMap(([directory, file]): [string, Constructors][] => {
    const source = program.getSourceFile(file);
    const module = source && checker.getSymbolAtLocation(source);
    return module === undefined ? [] : [[directory, constructorsOf(module, checker)]];
  });
  return new Map(all);
}

function constructorsOf(module: ts.Symbol, checker: ts.TypeChecker): Constructors {
  const exported = new Map(
    checker.getExportsOfModule(module).map((symbol) => [targetOf(symbol, checker), symbol.name] as const),
  );
  const bags = new Map<string, ts.InterfaceDeclaration>();
  for (const symbol of [...exported.keys()].sort((a, b) => (a.name < b.name ? -1 : 1))) {
    for (const { type } of parametersOf(symbol)) {
      const bag = type && interfaceOf(type, checker);
      if (bag && exported.has(bag.symbol)) bags.set(bag.symbol.name, bag.declaration);
    }
  }
  const ports = new Map<string, ts.Node>();
  for (const bag of bags.values()) {
    for (const { type } of bag.members.filter(ts.isPropertySignature)) {
      const port = type && interfaceOf(type, checker);
      if (port && exported.has(port.symbol) && port.declaration.members.some(ts.isMethodSignature)) {
        ports.set(port.symbol.name, port.declaration);
      }
    }
  }
  for (const port of [...ports.values()]) {
    for (const { symbol, declaration } of namedIn(port, checker)) {
      if (exported.has(symbol) && !bags.has(symbol.name)) ports.set(symbol.name, declaration);
    }
  }
  return {
    bags: [...bags].map(([name, declaration]) => ({ name, properties: givenOf(declaration, checker) })),
    ports: [...ports]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([, declaration]) => declaration.getText().replace(/^export (?:declare )?/, '')),
  };
}

/** Returns the parameters of a class's constructor, or of a factory function that takes components. */
function parametersOf({ declarations = [] }: ts.Symbol): readonly ts.ParameterDeclaration[] {
  const made = declarations.find(ts.isClassDeclaration);
  if (made !== undefined)
    return isError(made) ? [] : (made.members.find(ts.isConstructorDeclaration)?.parameters ?? []);
  const parameters = declarations.find(ts.isFunctionDeclaration)?.parameters ?? [];
  return parameters.some(({ type }) => type?.getText().endsWith('Components')) ? parameters : [];
}

function targetOf(symbol: ts.Symbol, checker: ts.TypeChecker): ts.Symbol {
  return symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
}

function isError({ heritageClauses }: ts.ClassDeclaration): boolean {
  return (
    heritageClauses?.some(({ types }) => types.some(({ expression }) => expression.getText() === 'Error')) ?? false
  );
}

function interfaceOf(type: ts.TypeNode, checker: ts.TypeChecker) {
  if (!ts.isTypeReferenceNode(type)) return undefined;
  const named = checker.getSymbolAtLocation(type.typeName);
  const symbol = named && targetOf(named, checker);
  const declaration = symbol?.declarations?.find(ts.isInterfaceDeclaration);
  return symbol && declaration ? { symbol, declaration } : undefined;
}

/** Returns the interfaces and type aliases, but not classes, that a declaration uses. */
function namedIn(node: ts.Node, checker: ts.TypeChecker): readonly { symbol: ts.Symbol; declaration: ts.Node }[] {
  const found: { symbol: ts.Symbol; declaration: ts.Node }[] = [];
  const visit = (child: ts.Node): void => {
    if (ts.isTypeReferenceNode(child)) {
      const named = checker.getSymbolAtLocation(child.typeName);
      const symbol = named && targetOf(named, checker);
      const isType = (each: ts.Node): boolean => ts.isInterfaceDeclaration(each) || ts.isTypeAliasDeclaration(each);
      const declaration = symbol?.declarations?.find(isType);
      if (symbol && declaration) found.push({ symbol, declaration });
    }
    ts.forEachChild(child, visit);
  };
  visit(node);
  return found;
}

/** Returns the properties of an interface, including inherited ones. */
function givenOf(declaration: ts.InterfaceDeclaration, checker: ts.TypeChecker): readonly Given[] {
  return checker
    .getTypeAtLocation(declaration)
    .getProperties()
    .flatMap((property) => {
      // Properties from `Partial<Pick<...>>` have no value declaration. Whether such a property is optional is a flag
      // of the symbol, not of the original declaration.
      const node = property.valueDeclaration ?? property.declarations?.[0];
      if (!node || !(ts.isPropertySignature(node) || ts.isMethodSignature(node))) return [];
      const type = ts.isPropertySignature(node) ? node.type?.getText() : node.getText().slice(property.name.length);
      const doc = ts.displayPartsToString(property.getDocumentationComment(checker));
      return {
        name: property.name,
        optional: (property.flags & ts.SymbolFlags.Optional) !== 0,
        type: oneLine(type ?? ''),
        doc: oneLine(doc),
      };
    });
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim();
}
