import path from 'node:path';
import ts from 'typescript';
import type { WorkspacePackage } from '../workspace.ts';

/** One of the things that a constructor is given. */
export interface Given {
  readonly name: string;
  readonly optional: boolean;
  readonly type: string;
  /** What its declaration says of it, in one line. */
  readonly doc: string;
}

/** An interface whose properties a constructor, or a function that makes something, is given together: its components, or its options. */
export interface Bag {
  readonly name: string;
  readonly properties: readonly Given[];
}

/** What a package's classes, and what its functions make, are made with. */
export interface Constructors {
  readonly bags: readonly Bag[];
  /** The interfaces of this package that its components have to be, as they are declared, and the types of this package that these name. */
  readonly ports: readonly string[];
}

/** Reads what the classes of each package, and what its functions make, are made with from its declarations, which have to be built; by directory. */
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

/** Of a class's constructor, or of a function that makes something of components. */
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

/** The interfaces and the other types, classes apart, that a declaration names. */
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

/** The properties of an interface, those that it inherits too. */
function givenOf(declaration: ts.InterfaceDeclaration, checker: ts.TypeChecker): readonly Given[] {
  return checker
    .getTypeAtLocation(declaration)
    .getProperties()
    .flatMap((property) => {
      // What comes by `Partial<Pick<...>>` has no value's declaration, and need not be optional where it was declared.
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
