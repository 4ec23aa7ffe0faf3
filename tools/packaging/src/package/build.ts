import fs from 'node:fs';
import { bundleMain, bundleParts } from './bundle.ts';
import { codeCaches } from './code-cache.ts';
import { copyright } from './copyright.ts';
import { executable } from './executable.ts';
import { type Architecture, nodeProgram, ownArchitecture } from './node-program.ts';
import type { Source } from './source.ts';

/** The single file of one architecture. */
export interface SingleFile {
  readonly architecture: Architecture;
  readonly program: Buffer;
  /** Licences of everything that the file contains. */
  readonly copyright: string;
}

/** Builds the single file for several architectures. The file of a foreign architecture has no code cache. */
export async function buildSingleFiles(
  source: Source,
  architectures: readonly Architecture[],
): Promise<readonly SingleFile[]> {
  const own = ownArchitecture();
  const packer = nodeProgram(own).file;
  const { scripts, packages } = await bundleParts(source);
  const assets = new Map<string, string | Uint8Array>([...scripts].map(([name, code]) => [`${name}.js`, code]));
  const [main, mainWithCache] = [await bundleMain('main'), await bundleMain('main-with-cache')];
  return architectures.map((architecture) => {
    const { file, license } = nodeProgram(architecture);
    const node = fs.readFileSync(file);
    const caches = architecture === own ? codeCaches({ node, main: mainWithCache, assets }, packer) : [];
    const program = executable({ node, main, assets: new Map([...assets, ...caches]) }, packer);
    return { architecture, program, copyright: copyright(packages, license) };
  });
}
