import { getAssetKeys, getRawAsset } from 'node:sea';
import { debuglog } from 'node:util';
import { Script } from 'node:vm';

/** Type of the function around the code of a part, as in Node.js' CommonJS modules. */
type Wrapper = (exports: object, require: (id: string) => unknown, module: { exports: object }) => void;

const debug = debuglog('single-file');
const keys = new Set(getAssetKeys());
const exportsOf = new Map<string, object>();
/** Compiled scripts by name of the part. */
export const scripts: Map<string, Script> = new Map();

/** Loads and runs a part of the single executable file once. @returns its exports */
export function loadPart(name: string): object {
  const known = exportsOf.get(name);
  if (known !== undefined) return known;
  const module = { exports: {} };
  const wrapper = compile(name).runInThisContext() as Wrapper;
  wrapper(module.exports, requirePart, module);
  exportsOf.set(name, module.exports);
  return module.exports;
}

/** Implements `require` of the parts: Node.js' own modules, and large packages that are parts of their own. */
function requirePart(id: string): unknown {
  return process.getBuiltinModule(id) ?? loadPart(id);
}

function compile(name: string): Script {
  // The bundles are ASCII, so one byte per character is enough.
  const source = Buffer.from(getRawAsset(`${name}.js`)).toString('latin1');
  const cache = `${name}.cache`;
  const cachedData = keys.has(cache) ? new Uint8Array(getRawAsset(cache)) : undefined;
  const script = new Script(source, { filename: `kubelet:${name}.js`, ...(cachedData && { cachedData }) });
  debug('%s: code cache %s', name, cachedData && (script.cachedDataRejected ? 'rejected' : 'used'));
  scripts.set(name, script);
  return script;
}
