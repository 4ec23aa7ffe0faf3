// Bundles programs as users of the packages do: esbuild, one ES module for Node.js, no other options.
import { createRequire } from 'node:module';
import path from 'node:path';
import { root } from '../bootstrap/toolchain.mjs';

// esbuild is used in the version on which tsup depends.
const tsup = createRequire(path.join(root, 'package.json')).resolve('tsup');
const esbuild = createRequire(tsup)('esbuild');

/**
 * Bundles `script` of the project directory into `outfile`, which may be anywhere: the bundle needs no node_modules.
 * @returns the errors
 */
export async function bundle(project, script, outfile) {
  try {
    await esbuild.build({
      absWorkingDir: project,
      entryPoints: [script],
      ...{ outfile, bundle: true, format: 'esm', platform: 'node', logLevel: 'silent' },
    });
    return [];
  } catch (error) {
    return error.errors?.map(({ text, location }) => `${location?.file}: ${text}`) ?? [error.message];
  }
}
