/** What Vitest's module runner keeps of the modules that it has read, by their ids. */
export interface ModuleGraph {
  readonly idToModuleMap: ReadonlyMap<string, ModuleNode>;
}

interface ModuleNode {
  readonly file: string;
  readonly importers: Set<string>;
  evaluated: boolean;
  promise: unknown;
  exports: unknown;
}

/**
 * Lets the modules of a directory, and all that import one of them, be read anew at the next import. Others stay as they are: to read
 * them again is most of what a run costs.
 */
export function forgetModules({ idToModuleMap: modules }: ModuleGraph, directory: string): void {
  const stale = new Set<ModuleNode>();
  const add = (module: ModuleNode | undefined): void => {
    if (module === undefined || stale.has(module)) return;
    stale.add(module);
    for (const importer of module.importers) add(modules.get(importer));
  };
  for (const module of modules.values()) if (module.file.startsWith(`${directory}/`)) add(module);
  for (const module of stale) {
    module.promise = undefined;
    module.exports = undefined;
    module.evaluated = false;
    module.importers.clear();
  }
}
