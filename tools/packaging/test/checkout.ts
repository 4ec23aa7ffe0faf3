import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { WorkspacePackage } from '../src/workspace.ts';

export interface SampleCheckout {
  readonly root: string;
  readonly packages: readonly WorkspacePackage[];
}

/** Creates a checkout with one package of these files in a temporary directory. The caller removes the directory. */
export function sampleCheckout(files: Readonly<Record<string, string>>): SampleCheckout {
  const root = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'node-agent-checkout-')));
  const manifest = {
    name: '@node-agent/sample',
    version: '0.1.0',
    exports: {
      '.': { '@node-agent/source': './src/index.ts', types: './dist/index.d.ts', default: './dist/index.js' },
    },
  };
  const all = { 'packages/sample/package.json': JSON.stringify(manifest), ...files };
  for (const [name, text] of Object.entries(all)) {
    fs.mkdirSync(path.dirname(path.join(root, name)), { recursive: true });
    fs.writeFileSync(path.join(root, name), text);
  }
  // Links the types that every Node.js program has installed.
  fs.symlinkSync(path.resolve(import.meta.dirname, '../../../node_modules'), path.join(root, 'node_modules'));
  return { root, packages: [{ directory: 'packages/sample', shortName: 'sample', manifest }] };
}
