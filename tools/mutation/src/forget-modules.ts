/** Module graph of Vitest's module runner: evaluated modules by ID. */
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
 * Makes the modules of a directory, and all modules that import them directly or indirectly, be evaluated again at the
 * next import. Other modules stay evaluated, because their evaluation takes most of a run's time.
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
